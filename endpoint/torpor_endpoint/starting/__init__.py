"""What a start checks before anything is started, for an endpoint and for a router, and how it refuses."""
