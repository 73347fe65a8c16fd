"""What callers of two routers lose while a router, the control and instances are killed at random."""
