"""Routers in processes of their own: the control's side, the router's, and what the two tell each other."""
