"""Reads and writes objects for other parts of the endpoint: in the embedded store, or in another S3."""
