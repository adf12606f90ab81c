"""Counters from any HTTP endpoint."""
