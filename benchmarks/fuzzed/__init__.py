"""Requests that nobody should send: valid signed ones with a change, and bytes at random."""
