"""Calls an endpoint: one connection, signed requests, retries, rows in and predictions out."""
