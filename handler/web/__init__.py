"""The HTTP doors: API, metrics, health."""
