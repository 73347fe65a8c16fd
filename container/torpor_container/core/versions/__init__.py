"""Versions of models, as far as an endpoint and a simulation decide about them in the same way."""
