"""Runs the decision code over what was recorded, or over a load, with a virtual clock."""
