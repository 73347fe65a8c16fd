"""The device that models may predict on: the seam to it, CUDA's behind it, and one that tests simulate.

Nothing here is imported by an instance that predicts on its processor.
"""
