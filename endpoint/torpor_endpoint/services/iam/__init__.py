"""IAM, the part that SageMaker's users need: roles, kept and shown again. No right is ever checked."""
