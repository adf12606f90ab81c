"""Declared intent: what the operator asked for, as frozen values."""
