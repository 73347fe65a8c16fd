"""The ledger: what every cold start was made of, the traffic by the minute, and each instance's life, in a database."""
