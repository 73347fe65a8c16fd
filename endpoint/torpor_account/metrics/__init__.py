"""The metrics that the endpoint counts, as CloudWatch and Prometheus read them."""
