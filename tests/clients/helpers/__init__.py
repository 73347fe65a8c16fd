"""An endpoint and its models for real clients. Standard library only where an SDK's own Python imports it."""
