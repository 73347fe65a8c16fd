"""Decisions about models as pure values and small state machines: no I/O, no clock, no randomness, no asyncio."""
