"""Calls to an AWS API and checks of its answers."""
