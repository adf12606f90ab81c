"""Evidence that a member is gone: what independent sources say of it, what follows from that, and what is remembered.

A cloud's listing and its answers by name come from one place and err together. A *source* is independent of both: a
counter that the member itself answers, the health check of a balancer, the readiness probe.
"""
