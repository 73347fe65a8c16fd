"""Supervision of one slot: its containers start, are probed and watched, and share the instance's memory."""
