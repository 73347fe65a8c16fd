"""Simulates calls of groups: the endpoint's own choice of a model for each call, and the rules that stand beside it."""
