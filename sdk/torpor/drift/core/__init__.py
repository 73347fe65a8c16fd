"""Decides what has drifted, as pure values: sketches, statistics of columns, constraints and their violations."""
