"""The environment variables by which an endpoint tells a router that it starts who it is."""

CONTROL_KEY, CONTROL_SECRET = "TORPOR_CONTROL_ACCESS_KEY_ID", "TORPOR_CONTROL_SECRET_ACCESS_KEY"
"""The variables of the access key by which a router calls its control. Without them, AWS's own hold: those may have the
key of another S3."""
OWNED = "TORPOR_ROUTER_OWNED"
"""The variable that has a router end with the process that started it."""
