"""Alerts in, from a payload to requests at the door."""
