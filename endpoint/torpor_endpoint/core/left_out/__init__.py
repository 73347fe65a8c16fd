"""What Torpor leaves out of SageMaker, as tables: what to use instead, and lists that are always empty."""
