"""Unanswered channels: since when, what it means, and what to do about it."""
