"""Snapshots: everything that a plan is made from at one moment, as a value and as a file for people."""
