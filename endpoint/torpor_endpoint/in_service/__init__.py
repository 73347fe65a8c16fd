"""Endpoints in service: which take requests, and their instances, as whoever routes requests sees them."""
