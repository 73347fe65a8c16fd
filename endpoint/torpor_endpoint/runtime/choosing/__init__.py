"""Chooses a model for a request that names a group: reads its need, and asks the instances where the models are."""
