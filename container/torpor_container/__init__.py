"""The SageMaker container contract, and the models in memory and on disk of one instance."""
