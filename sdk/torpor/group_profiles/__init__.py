"""Measures the models of a group on an endpoint, and writes the group's file from what it measured."""
