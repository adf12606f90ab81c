"""Brings the cloud and the balancers to the plan: gather, plan, write intents, carry out, record."""
