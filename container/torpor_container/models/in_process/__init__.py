"""Models of known formats in an instance's own process: read from disk, measured, and served in another form later."""
