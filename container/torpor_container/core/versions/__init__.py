"""Versions of models as an endpoint, an instance and a simulation see them alike: which may answer, and their names."""
