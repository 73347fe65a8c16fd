"""Lineage: what made what, as a graph of artifacts, actions, contexts and trial components."""
