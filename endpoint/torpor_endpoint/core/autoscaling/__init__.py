"""Decides when a scaling policy changes a variant's number of instances."""
