"""The production variant of an endpoint's plan."""

import pytest

from torpor.hosting.endpoint_deployment import EndpointPlan


@pytest.mark.parametrize(
    ("options", "capacity"),
    [
        ({}, {"InstanceType": "ml.m5.large", "InitialInstanceCount": 1}),
        ({"serverless": {"MemorySizeInMB": 1024}}, {"ServerlessConfig": {"MemorySizeInMB": 1024}}),
        ({"instance_count": 3}, {"InstanceType": "ml.m5.large", "InitialInstanceCount": 3}),
    ],
)
def test_the_capacity_is_that_of_instances_or_serverless(
    options: dict[str, object], capacity: dict[str, object]
) -> None:
    assert EndpointPlan("houses", "s3://a/b/", **options).capacity == capacity  # type: ignore[arg-type]  # its own fields


@pytest.mark.parametrize(
    ("count", "low", "high", "scaling"),
    [
        (3, 0, None, (3, 0, 3)),
        (1, None, 4, (1, 1, 4)),
        (1, 2, 4, (2, 2, 4)),
        (9, 0, 4, (4, 0, 4)),
        (1, 2, None, (2, 2, 2)),
    ],
)
def test_the_first_instances_lie_between_the_least_and_the_most(
    count: int, low: int | None, high: int | None, scaling: tuple[int, int, int]
) -> None:
    plan = EndpointPlan("houses", "s3://a/b/", instance_count=count, instances_min=low, instances_max=high)
    managed = plan.capacity["ManagedInstanceScaling"]
    found = (plan.capacity["InitialInstanceCount"], managed["MinInstanceCount"], managed["MaxInstanceCount"])
    assert found == scaling
