"""Names of what can be measured: SNMP objects and MIBs, columns and statistics of balancers, measures of clouds."""
