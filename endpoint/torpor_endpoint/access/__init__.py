"""What callers may do with SageMaker: invocations, the pages of routers, and the page of a caller's own models."""
