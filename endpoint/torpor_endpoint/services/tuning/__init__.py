"""Hyperparameter tuning jobs: they run training jobs with other hyperparameters each, and keep the best."""
