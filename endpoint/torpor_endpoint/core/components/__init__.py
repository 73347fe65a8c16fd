"""Inference components as values: what each wants, what it has, and how its status moves. Nothing is placed here."""
