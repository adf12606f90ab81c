"""Drivers of balancers: join, enable, drain, leave."""
