"""Tells by their bytes alone which contents need no trial: they are read, and nothing in them is run."""
