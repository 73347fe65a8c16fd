"""CloudWatch's metric alarms: stores them, judges them at their own intervals, and runs their actions."""
