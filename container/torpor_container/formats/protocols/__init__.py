"""Requests of other protocols than SageMaker's, as a model of any format answers them."""
