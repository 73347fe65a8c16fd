"""Every operation that is claimed is called on the real port, and its answer held against botocore's own model."""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pytest

from tests.endpoint.aws.helpers.operation_parameters import (
    AUTOSCALING,
    CLOUDWATCH,
    IAM,
    INVOKING,
    LOGS,
    S3,
    SAGEMAKER,
    SAGEMAKER_END,
    STS,
    TRAINING,
)
from tests.endpoint.aws.helpers.operation_walk import Row, Walk
from tests.endpoint.aws.helpers.strictness import complaints
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import booster, packed, put
from torpor_endpoint.aws.in_process import client
from torpor_endpoint.compatibility import FACES
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.services.autoscaling import service as autoscaling
from torpor_endpoint.services.cloudwatch import service as cloudwatch
from torpor_endpoint.services.cloudwatch.alarms import operations as alarms
from torpor_endpoint.services.cloudwatch.service import CloudWatch
from torpor_endpoint.services.iam import service as iam
from torpor_endpoint.services.logs import service as logs
from torpor_endpoint.services.s3 import routes as s3
from torpor_endpoint.services.sagemaker import operations as sagemaker
from torpor_endpoint.services.sts import service as sts
from torpor_endpoint.services.training import operations as training


@dataclass(frozen=True)
class Claim:
    """A service: its operations, how they are called, and what may be empty in its answers."""

    operations: Collection[str]
    rows: Mapping[str, Row]
    kept: Collection[str] = ()


CLAIMS = {
    "sagemaker": Claim(
        [*sagemaker.OPERATIONS, *training.OPERATIONS], {**SAGEMAKER, **TRAINING, **SAGEMAKER_END}, sagemaker.KEPT
    ),
    "sagemaker-runtime": Claim(["InvokeEndpoint"], INVOKING),
    "cloudwatch": Claim([*cloudwatch.OPERATIONS, *alarms.OPERATIONS], CLOUDWATCH, cloudwatch.KEPT),
    "iam": Claim(iam.OPERATIONS, IAM, iam.KEPT),
    "application-autoscaling": Claim(autoscaling.OPERATIONS, AUTOSCALING, autoscaling.KEPT),
    "logs": Claim(logs.OPERATIONS, LOGS, logs.KEPT),
    "sts": Claim(sts.OPERATIONS, STS),
    "s3": Claim(s3.OPERATIONS, S3),
}
CLAIMED = [(service, operation) for service, claim in CLAIMS.items() for operation in claim.operations]


@pytest.fixture(scope="module")
def walks(live: LiveEndpoint) -> Iterator[dict[str, Walk]]:
    put(live.folder("walk-models"), {"all/a.tar.gz": packed({"model.json": booster()}), "rows/a.csv": b"1,2\n2,4\n"})
    walks = {service: Walk(service, live.client, live.settled) for service in CLAIMS}
    walks["sagemaker"].through({**SAGEMAKER, **TRAINING})
    for service, claim in CLAIMS.items():
        if service != "sagemaker":
            walks[service].through({name: row for name, row in claim.rows.items() if name in claim.operations})
    walks["sagemaker"].through(SAGEMAKER_END)
    yield walks
    for walk in walks.values():
        walk.close()


@pytest.mark.parametrize(("service", "operation"), CLAIMED)
def test_an_answer_is_what_the_model_says_and_nothing_else(
    walks: dict[str, Walk], service: str, operation: str
) -> None:
    assert operation in CLAIMS[service].rows, "an operation without a row: add one to walk_rows.py"
    walk = walks[service]
    if operation in walk.errors:
        raise walk.errors[operation]
    assert complaints(walk.answers[operation], CLAIMS[service].kept) == []


def test_what_is_claimed_here_is_what_the_documentation_claims() -> None:
    walked = {service: set(claim.operations) for service, claim in CLAIMS.items()}
    assert walked == {face.service: set(face.operations) for face in FACES}


def test_every_row_is_of_an_operation_that_exists(walks: dict[str, Walk]) -> None:
    for service, claim in CLAIMS.items():
        assert claim.rows.keys() <= walks[service].known


@pytest.mark.parametrize("protocol", ["json", "query", "smithy-rpc-v2-cbor"])
def test_cloudwatch_answers_so_in_each_of_its_protocols(protocol: str) -> None:
    service = cloudwatch.cloudwatch_service(CloudWatch(MetricRegistry(time.time)), account="123456789012")
    walk = Walk("cloudwatch", lambda _: client(service, protocol=protocol), str)
    walk.through({name: CLOUDWATCH[name] for name in cloudwatch.OPERATIONS})
    assert not walk.errors
    assert not [text for answered in walk.answers.values() for text in complaints(answered, cloudwatch.KEPT)]
