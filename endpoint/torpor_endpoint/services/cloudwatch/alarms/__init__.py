"""CloudWatch's metric alarms: kept, judged at their own pace, and acted upon through a seam."""
