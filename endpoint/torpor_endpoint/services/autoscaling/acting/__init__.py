"""Acts on scaling policies: watches metrics and clocks, and changes the number of instances."""
