"""Refuse requests, make them smaller, and choose the winner."""
