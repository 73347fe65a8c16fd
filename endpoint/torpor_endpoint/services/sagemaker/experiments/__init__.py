"""Inference experiments: shadow tests that run on a schedule, and change the endpoint when they start and stop."""
