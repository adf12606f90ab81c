"""One client of OpenNebula's XML-RPC, for counters and for drivers: calls and their answers."""
