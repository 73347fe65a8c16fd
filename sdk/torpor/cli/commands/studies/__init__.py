"""Commands that work on a trace or a sample: they simulate it, plan for it, send it, or measure models with it."""
