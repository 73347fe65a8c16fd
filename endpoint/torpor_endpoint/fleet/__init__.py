"""From a stored endpoint to running instances: controller, deployment, variant, supervision of a slot."""
