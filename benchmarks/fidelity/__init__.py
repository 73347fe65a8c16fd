"""Compares the simulator with the live endpoint, over the same traces."""
