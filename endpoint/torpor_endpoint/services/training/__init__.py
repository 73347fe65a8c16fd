"""A stand-in for SageMaker training: scripts run on this machine, and their models land where AWS would put them."""
