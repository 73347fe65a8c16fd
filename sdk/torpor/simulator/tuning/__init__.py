"""Tunes all settings of a variant together: an optimiser proposes them, and the simulator judges them."""
