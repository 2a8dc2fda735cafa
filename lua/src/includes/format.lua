local format = string.format
