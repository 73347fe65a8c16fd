"""Every supported operation is called on the real port, and its answer is checked against botocore's model."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest

from tests.endpoint.account.helpers.every_operation import CLAIMED, CLAIMS, ROWS, walked
from tests.endpoint.account.helpers.full_endpoint import (
    OTHERS,
    FullEndpoint,
    SeenRecords,
    filled,
    preparing,
    told,
    unfiltered,
)
from tests.endpoint.account.helpers.operation_parameters import CLOUDWATCH
from tests.endpoint.account.helpers.operation_walk import Walk
from tests.endpoint.account.helpers.strictness import complaints
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.helpers.machine_pace import holds_up
from tests.helpers.thorough_values import one_in
from torpor_account.aws.in_process import client
from torpor_account.aws.service import READS as NAMES_OF_READS
from torpor_account.cloudwatch import service as cloudwatch
from torpor_account.cloudwatch.service import CloudWatch
from torpor_account.metrics.registry import MetricRegistry

TRIES = 8
"""The first one imports what it needs; the system may take some processor time by chance, but not each time."""
CONTENTS = ("GetObject", "HeadObject")
READS = [
    (service, operation)
    for service, operation in CLAIMED
    if operation.startswith((*NAMES_OF_READS, "Head", "Query")) and operation not in CONTENTS
]

WRITES = [
    (service, operation)
    for service, operation in CLAIMED
    if (service, operation) not in READS and service != "sagemaker-runtime" and operation not in CONTENTS
]
SLOTS = OTHERS // TRIES
"""So many operations in a row write to records of their own."""
# fmt: off
REFUSED = frozenset((
    "AbortMultipartUpload", "AddAssociation", "CompleteMultipartUpload", "CreateServiceLinkedRole", "DeleteAccessKey",
    "DeleteAction", "DeleteArtifact", "DeleteBucket", "DeleteGroupPolicy", "DeleteLogGroup", "DeleteLogStream",
    "DeleteModelPackageGroup", "DeleteModelPackageGroupPolicy", "DeleteObjectTagging", "DeletePolicyVersion",
    "DeleteRetentionPolicy", "DeleteRolePolicy", "DeleteUserPolicy", "DetachGroupPolicy", "DetachRolePolicy",
    "DetachUserPolicy", "PutObjectAcl", "PutObjectTagging", "PutRetentionPolicy", "StartInferenceExperiment",
    "StopHyperParameterTuningJob", "StopInferenceExperiment", "StopPipelineExecution", "StopProcessingJob",
    "StopTrainingJob", "StopTransformJob", "TagLogGroup", "TagResource", "UntagLogGroup", "UntagResource",
    "UpdateAccessKey", "UpdateInferenceExperiment", "UploadPart", "UploadPartCopy",
))
# fmt: on
"""Here these may be refused: what they are about does not run, or an operation before them has removed it."""


@pytest.fixture(scope="module")
def seen(live: LiveEndpoint) -> SeenRecords:
    return SeenRecords(live.data_dir)


@pytest.fixture(scope="module")
def walks(live: LiveEndpoint, seen: SeenRecords) -> Iterator[dict[str, Walk]]:
    with walked(live, before=seen.look) as walks:
        yield walks


@pytest.fixture(scope="module")
def full(
    live: LiveEndpoint, walks: dict[str, Walk], seen: SeenRecords, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FullEndpoint]:
    folder = tmp_path_factory.mktemp("full") / "data"
    filled(live.data_dir, seen, folder)
    endpoint = FullEndpoint(folder)
    yield endpoint
    endpoint.close()


@pytest.fixture(scope="module")
def asking(live: LiveEndpoint) -> Iterator[Callable[[str], Any]]:
    """A client of each service, which sends nothing."""
    with ExitStack() as closed:
        yield cache(lambda service: closed.enter_context(preparing(live.client(service))))


@pytest.mark.parametrize(("service", "operation"), CLAIMED)
def test_an_answer_has_exactly_the_members_of_botocores_model(
    walks: dict[str, Walk], service: str, operation: str
) -> None:
    assert operation in ROWS[service], "an operation without a row: add one to operation_parameters.py"
    walk = walks[service]
    if operation in walk.errors:
        raise walk.errors[operation]
    assert complaints(walk.answers[operation], CLAIMS[service].kept) == []


@pytest.mark.parametrize(("service", "operation"), one_in(8, READS))
def test_a_read_among_thousands_of_records_does_not_hold_the_loop_up(
    walks: dict[str, Walk], full: FullEndpoint, asking: Callable[[str], Any], service: str, operation: str
) -> None:
    requests = [walks[service].requests[operation], unfiltered(asking(service), operation)]
    for request in requests:
        pieces_ms: list[float] = []
        while request is not None and (not pieces_ms or holds_up(pieces_ms[-1])):
            status, longest_ms = full.longest_ms(request)
            assert status < 500
            pieces_ms.append(longest_ms)
            assert len(pieces_ms) < TRIES, f"the event loop was held up for {told(pieces_ms)} ms"


@pytest.mark.parametrize(("service", "operation"), one_in(4, WRITES))
def test_a_write_among_thousands_of_records_does_not_hold_the_loop_up(
    walks: dict[str, Walk], full: FullEndpoint, service: str, operation: str
) -> None:
    first = WRITES.index((service, operation)) % SLOTS * TRIES
    pieces_ms: list[float] = []
    while not pieces_ms or holds_up(pieces_ms[-1]):
        assert len(pieces_ms) < TRIES, f"the event loop was held up for {told(pieces_ms)} ms"
        status, longest_ms = full.written(service, walks[service].requests[operation], first + len(pieces_ms))
        pieces_ms.append(longest_ms)
        assert status < (500 if operation in REFUSED else 300)


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
