"""Computes what different ways to serve a trace cost, side by side."""
