"""What several routers of one endpoint decide together."""
