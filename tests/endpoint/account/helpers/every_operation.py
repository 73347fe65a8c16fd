"""A call of every supported operation, in an order in which each finds what it needs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.endpoint.account.helpers.operation_parameters import (
    AUTOSCALING,
    CLOUDWATCH,
    COMPONENTS,
    EXPERIMENTS,
    IAM,
    INVOKING,
    JOBS,
    LOGS,
    S3,
    SAGEMAKER,
    SAGEMAKER_END,
    STS,
)
from tests.endpoint.account.helpers.operation_walk import Row, Walk
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import booster, packed, put
from torpor_endpoint.services.service_register import SERVICES

ROWS: Mapping[str, Mapping[str, Row]] = {
    "sagemaker": {**SAGEMAKER, **COMPONENTS, **EXPERIMENTS, **JOBS, **SAGEMAKER_END},
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


@contextmanager
def walked(live: LiveEndpoint, before: Callable[[str], object] = str) -> Iterator[dict[str, Walk]]:
    """The answers of an endpoint, by service. `before` is called with each operation before it."""
    put(live.folder("walk-models"), {"all/a.tar.gz": packed({"model.json": booster()}), "rows/a.csv": b"1,2\n2,4\n"})
    walks = {service: Walk(service, live.client, live.settled, before=before) for service in CLAIMS}
    walks["sagemaker"].through({**SAGEMAKER, **COMPONENTS, **EXPERIMENTS, **JOBS})
    for service, claim in CLAIMS.items():
        if service != "sagemaker":
            walks[service].through({name: row for name, row in ROWS[service].items() if name in claim.operations})
    walks["sagemaker"].through(SAGEMAKER_END)
    yield walks
    for walk in walks.values():
        walk.close()
