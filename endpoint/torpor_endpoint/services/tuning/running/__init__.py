"""Runs a tuning job: proposes hyperparameters, begins training jobs, reads their objective metrics."""
