"""Lineage: what artifacts, actions and contexts there are, and which of them made which."""
