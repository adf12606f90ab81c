"""SNMP below the source: agents, sessions over either library, and what their answers mean."""
