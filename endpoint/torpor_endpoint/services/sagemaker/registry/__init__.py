"""The model registry: groups of model packages, packages and their approval, and models that are made of them."""
