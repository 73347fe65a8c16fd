"""Runs the executions of pipelines: resolves each step's arguments, calls its operation, and waits for its job."""
