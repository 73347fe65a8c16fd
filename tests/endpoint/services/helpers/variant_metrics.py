"""Reads the metrics of one variant from CloudWatch."""

from datetime import UTC, datetime, timedelta

from tests.endpoint.helpers.live_endpoint import LiveEndpoint


def summed(live: LiveEndpoint, endpoint: str, variant: str, metric: str, namespace: str = "AWS/SageMaker") -> float:
    """The sum of the metric's samples so far."""
    now = datetime.now(UTC)
    points = live.cloudwatch.get_metric_statistics(
        Namespace=namespace,
        MetricName=metric,
        Dimensions=[{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": variant}],
        StartTime=now - timedelta(hours=12),
        EndTime=now + timedelta(hours=12),
        Period=86400,
        Statistics=["Sum"],
    )["Datapoints"]
    return sum(float(point["Sum"]) for point in points)
