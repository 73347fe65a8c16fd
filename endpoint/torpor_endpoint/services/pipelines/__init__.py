"""SageMaker Pipelines: pipelines and their executions, whose steps are operations that Torpor answers."""
