"""Counters that Prometheus answers for, or what else speaks its query API."""
