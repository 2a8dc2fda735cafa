"""Boards, windows and rankings as plain values and functions: nothing here talks to a server."""
