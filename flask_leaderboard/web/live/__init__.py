"""Live: rankings as they change, over WebSocket and Server-Sent Events."""
