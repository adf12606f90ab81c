"""HTTP in its two ways: asynchronous for counters, blocking for drivers; bounded, with total deadlines."""
