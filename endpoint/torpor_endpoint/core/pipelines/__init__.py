"""SageMaker Pipelines: the definition of a pipeline, the values in it, and which steps come next."""
