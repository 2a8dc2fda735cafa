"""Where the data lives: clients by URL, and the private server."""
