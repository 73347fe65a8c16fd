"""Has the faults of a test's schedule strike: at the object store, at the router, and at instances."""
