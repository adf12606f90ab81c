"""Which worker may act: the lease of workers on one store, without clocks or a database."""
