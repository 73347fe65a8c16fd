"""Search over records as values: which meet an expression, and in which order they are shown."""
