"""The service: AWS APIs, routing, waking, scaling, metrics and the ledger."""
