"""Pushed values in, from a request to the board."""
