"""Secrets that must be read back, encrypted at rest under a key from outside the store."""
