"""Capability URLs: a token that executes one policy, or has groups looked at, whatever the sender's format."""
