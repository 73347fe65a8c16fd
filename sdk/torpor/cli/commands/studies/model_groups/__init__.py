"""What the commands do with groups of models: measure them, simulate their calls, plan for them."""
