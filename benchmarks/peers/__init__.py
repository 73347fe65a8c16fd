"""Other servers of small models, each in an environment of its own, as targets beside ours."""
