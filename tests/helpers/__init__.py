"""Helpers for the tests of more than one package."""
