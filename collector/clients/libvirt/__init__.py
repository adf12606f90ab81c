"""Calls to libvirt's daemon, over its own protocol."""
