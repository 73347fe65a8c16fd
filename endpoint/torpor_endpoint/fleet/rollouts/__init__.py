"""Rollouts of endpoints carried out: two fleets of a variant beside each other, driven step by step, and watched."""
