"""Every supported operation is called on the real port, and its answer is checked against botocore's model."""

import time
from collections.abc import Iterator

import pytest

from tests.endpoint.account.helpers.every_operation import CLAIMED, CLAIMS, ROWS, walked
from tests.endpoint.account.helpers.operation_parameters import CLOUDWATCH
from tests.endpoint.account.helpers.operation_walk import Walk
from tests.endpoint.account.helpers.strictness import complaints
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from torpor_account.aws.in_process import client
from torpor_account.cloudwatch import service as cloudwatch
from torpor_account.cloudwatch.service import CloudWatch
from torpor_account.metrics.registry import MetricRegistry


@pytest.fixture(scope="module")
def walks(live: LiveEndpoint) -> Iterator[dict[str, Walk]]:
    with walked(live) as walks:
        yield walks


@pytest.mark.parametrize(("service", "operation"), CLAIMED)
def test_an_answer_has_exactly_the_members_of_botocores_model(
    walks: dict[str, Walk], service: str, operation: str
) -> None:
    assert operation in ROWS[service], "an operation without a row: add one to operation_parameters.py"
    walk = walks[service]
    if operation in walk.errors:
        raise walk.errors[operation]
    assert complaints(walk.answers[operation], CLAIMS[service].kept) == []


def test_every_row_is_of_an_operation_that_exists(walks: dict[str, Walk]) -> None:
    for service, rows in ROWS.items():
        assert rows.keys() <= walks[service].known


@pytest.mark.parametrize("protocol", ["json", "query", "smithy-rpc-v2-cbor"])
def test_cloudwatch_answers_so_in_each_of_its_protocols(protocol: str) -> None:
    service = cloudwatch.service(CloudWatch(MetricRegistry(time.time)), account="123456789012")
    walk = Walk("cloudwatch", lambda _: client(service, protocol=protocol), str)
    walk.through({name: CLOUDWATCH[name] for name in cloudwatch.OPERATIONS})
    assert not walk.errors
    assert not [text for answered in walk.answers.values() for text in complaints(answered, cloudwatch.KEPT)]
