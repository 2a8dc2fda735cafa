"""The Redis side: keys, the Lua bundle, and the calls that run it."""
