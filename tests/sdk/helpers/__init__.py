"""Servers, files and virtual time for the tests of `torpor`."""
