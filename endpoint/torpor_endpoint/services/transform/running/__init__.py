"""How a transform job runs: its instances, its objects, and what is done after a restart."""
