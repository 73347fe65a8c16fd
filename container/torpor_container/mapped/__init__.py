"""Faster forms of models, each in one file that all instances of a variant on one machine map read-only."""
