"""Log groups as the files that instances write, and the index that finds a line's time."""
