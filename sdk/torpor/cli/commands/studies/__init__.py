"""Commands that work on a trace: they simulate it, plan for it, or send it."""
