"""Reads the endpoint's own pages: its state, accounts, numbers and decisions."""
