"""The HTTP interfaces: API, console, metrics, health."""
