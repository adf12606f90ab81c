"""One listening socket for many member processes: a holder owns it, members' seats borrow it."""
