"""Deployments of an endpoint's update: what a DeploymentConfig may say, and what callers see of a rollout."""
