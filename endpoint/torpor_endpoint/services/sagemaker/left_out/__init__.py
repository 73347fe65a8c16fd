"""Operations of SageMaker that Torpor does not carry out: what to use instead, and lists that are always empty."""
