"""Keeps every sample of every tick: written beside the decisions, read back for export and replay."""
