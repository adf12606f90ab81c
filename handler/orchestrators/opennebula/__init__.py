"""Members are virtual machines of a user of OpenNebula."""
