"""Artifacts that instances give each other: what each keeps for its neighbours, and how it asks them before S3."""
