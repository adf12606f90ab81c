"""Bytes that must stay as they are, whatever is moved or renamed."""
