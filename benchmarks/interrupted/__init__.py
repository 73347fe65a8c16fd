"""Asynchronous requests to an endpoint whose processes are killed at random: each has one right result."""
