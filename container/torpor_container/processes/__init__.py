"""Processes of this machine: the zygote that forks them warm, what they inherit, and how they end together."""
