"""One client of NetScaler's API, NITRO, for counters and for the balancer's driver."""
