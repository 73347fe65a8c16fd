"""Outages of the machine: which errors are the machine's own, and how work waits for its end. Pure."""
