"""Answers the recommendations jobs of an endpoint: what its measured models can do on other instances, and for what."""
