"""Composition root: wiring, loops, clock, logs, command line."""
