"""Versions of models in the fleet: lists the prefixes, loads new versions beside old ones, moves names and labels."""
