"""Members are domains of hosts with libvirt."""
