"""Guarded rollouts: how an update moves an endpoint from its old fleet to its new one, or back."""
