"""The process: its files and sockets, what it is wired of, and how it starts and stops."""
