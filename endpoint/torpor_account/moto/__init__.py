"""Answers, by moto, the services and operations that Torpor does not implement itself."""
