"""A stand-in for the SageMaker inference toolkit: see the folder above."""
