"""What the drivers of OpenStack's services have in common: one connection, names, refusals."""
