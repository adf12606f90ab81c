"""The daemon's process: its files and sockets, its wiring, its start and its stop."""
