"""Commands to one CloudStack over the library `cs`: signed, each within one deadline."""
