"""One folder for each service of SageMaker, and for what scales its variants; `torpor_account` has the others."""
