"""Reads the endpoint's own pages: its state, decisions, cold starts, costs and metrics."""
