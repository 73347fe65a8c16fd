"""Calls the API of a cluster: where it is, one call, what changes, and the rights that the calls need."""
