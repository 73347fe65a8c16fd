"""CloudWatch: the table of metrics, the samples in memory, and two faces that show them: AWS's API and Prometheus."""
