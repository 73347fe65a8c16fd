"""Calls an endpoint: connections, signatures, retries, and the formats of rows and predictions."""
