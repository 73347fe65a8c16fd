"""CloudWatch: operations on metrics, which `torpor_account.metrics` holds, and on alarms."""
