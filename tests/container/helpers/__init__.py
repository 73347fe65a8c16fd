"""Fakes, servers and small models for the tests of `torpor_container`."""
