"""Reads the versions of models, and moves the labels that point to them."""
