"""Incoming alerts, from a payload to requests in the decision queue."""
