"""Every supported operation is called on the real port, and its answer is checked against botocore's model."""

import time
from collections.abc import Iterator, Mapping

import pytest

from tests.endpoint.account.helpers.operation_parameters import (
    AUTOSCALING,
    CLOUDWATCH,
    EXPERIMENTS,
    IAM,
    INVOKING,
    LOGS,
    S3,
    SAGEMAKER,
    SAGEMAKER_END,
    STS,
    TRAINING,
    TRANSFORM,
)
from tests.endpoint.account.helpers.operation_walk import Row, Walk
from tests.endpoint.account.helpers.strictness import complaints
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import booster, packed, put
from torpor_account.aws.in_process import client
from torpor_account.cloudwatch import service as cloudwatch
from torpor_account.cloudwatch.service import CloudWatch
from torpor_account.metrics.registry import MetricRegistry
from torpor_endpoint.services.service_register import SERVICES

ROWS: Mapping[str, Mapping[str, Row]] = {
    "sagemaker": {**SAGEMAKER, **EXPERIMENTS, **TRAINING, **TRANSFORM, **SAGEMAKER_END},
    "sagemaker-runtime": INVOKING,
    "cloudwatch": CLOUDWATCH,
    "iam": IAM,
    "application-autoscaling": AUTOSCALING,
    "logs": LOGS,
    "sts": STS,
    "s3": S3,
}
"""How the operations of each service are called."""

CLAIMS = {service.name: service.tables() for service in SERVICES}
CLAIMED = [(service, operation) for service, claim in CLAIMS.items() for operation in claim.operations]


@pytest.fixture(scope="module")
def walks(live: LiveEndpoint) -> Iterator[dict[str, Walk]]:
    put(live.folder("walk-models"), {"all/a.tar.gz": packed({"model.json": booster()}), "rows/a.csv": b"1,2\n2,4\n"})
    walks = {service: Walk(service, live.client, live.settled) for service in CLAIMS}
    walks["sagemaker"].through({**SAGEMAKER, **EXPERIMENTS, **TRAINING, **TRANSFORM})
    for service, claim in CLAIMS.items():
        if service != "sagemaker":
            walks[service].through({name: row for name, row in ROWS[service].items() if name in claim.operations})
    walks["sagemaker"].through(SAGEMAKER_END)
    yield walks
    for walk in walks.values():
        walk.close()


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
