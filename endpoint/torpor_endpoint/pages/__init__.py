"""The endpoint's own pages: health, metrics, state, the ledger, and commands that act on a model."""
