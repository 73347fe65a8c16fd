"""The control's routers: what the control sends them, what they report, and what becomes of that."""
