"""Inference components as they run: where their copies stand, and how each comes to what its record asks for."""
