"""Sends a recorded trace to a live endpoint at its own moments, and counts what comes back."""
