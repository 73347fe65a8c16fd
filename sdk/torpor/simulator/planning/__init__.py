"""Searches for the cheapest way to serve a trace within a goal."""
