"""Explain a decision, as a value and in words."""
