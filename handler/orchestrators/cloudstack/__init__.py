"""Members are virtual machines of a CloudStack account."""
