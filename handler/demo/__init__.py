"""The demo fleet of `make run`: members, load, live table."""
