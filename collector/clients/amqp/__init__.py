"""The client of AMQP 0-9-1: what a message bus publishes."""
