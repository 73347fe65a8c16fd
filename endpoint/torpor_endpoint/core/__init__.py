"""The endpoint's decisions as values: no I/O, no clock, no randomness, no asyncio."""
