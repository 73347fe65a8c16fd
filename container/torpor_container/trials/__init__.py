"""Trials: a version of an artifact is loaded in a process of its own before the instance loads it."""
