"""Counters that any HTTP endpoint answers for."""
