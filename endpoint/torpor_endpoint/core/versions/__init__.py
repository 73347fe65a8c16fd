"""Versions of models: what lies below a prefix, which version answers a name, and when a new one takes over."""
