"""Calls to one project of OpenStack over openstacksdk."""
