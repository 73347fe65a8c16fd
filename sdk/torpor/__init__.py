"""Torpor: a serverless multi-model endpoint that you run yourself."""
