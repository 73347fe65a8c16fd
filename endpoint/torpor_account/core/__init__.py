"""The pure decisions of the account: no I/O, no clock, no randomness."""
