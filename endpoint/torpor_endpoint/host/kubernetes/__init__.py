"""Runs instances as pods of a Kubernetes cluster: one Deployment for each slot, in one namespace."""
