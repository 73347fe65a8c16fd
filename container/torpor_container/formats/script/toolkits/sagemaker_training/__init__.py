"""A stand-in for the SageMaker training toolkit: see the folder above."""
