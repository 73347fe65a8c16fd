"""What would happen: the live decisions, driven by a virtual clock over traffic that was recorded or made up."""
