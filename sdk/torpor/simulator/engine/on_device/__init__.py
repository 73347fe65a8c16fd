"""A simulated instance's device: which models are on it, and the predictions there."""
