"""Decisions about devices as values: what a setting asks for, what a library's error means, and when a device pays."""
