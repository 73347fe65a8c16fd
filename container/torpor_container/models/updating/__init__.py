"""Models that are overwritten while they are in memory: which copy answers, and how a newer one takes over."""
