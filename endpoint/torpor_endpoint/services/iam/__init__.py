"""IAM, the part that SageMaker's users need: it stores and shows roles. It never checks a right."""
