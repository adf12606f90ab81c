"""The daemon's operations, each defined once, for the CLI, the API, the console and CloudStack's API."""
