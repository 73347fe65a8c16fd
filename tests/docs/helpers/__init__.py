"""Helpers for the tests of the documentation."""
