"""Identity: who asks for an operation, from where, and which rights each role has."""
