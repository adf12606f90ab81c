"""Recordings of every sample of every tick, read back for export and replay."""
