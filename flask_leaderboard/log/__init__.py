"""The SQL side: the log of all events, its tables and their migrations."""
