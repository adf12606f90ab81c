"""Drivers of clouds: list, create, destroy."""
