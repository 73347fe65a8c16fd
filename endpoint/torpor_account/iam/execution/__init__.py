"""Execution roles: what the role of a model or a job may do, and the temporary credentials that its instances get."""
