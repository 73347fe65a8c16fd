"""Confirms a plan: sends its own trace to a live endpoint of its configuration, and compares forecast with fact."""
