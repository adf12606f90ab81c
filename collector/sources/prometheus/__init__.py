"""Counters from Prometheus and other servers with its query API."""
