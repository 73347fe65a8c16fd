"""CloudWatch: operations on metrics, which `torpor_endpoint.metrics` holds, and on alarms."""
