"""Computes hit rates by memory size from reuse distances, without a simulation of each size."""
