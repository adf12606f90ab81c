"""Persisted instants and a wall clock that may be set: spans keep their lengths."""
