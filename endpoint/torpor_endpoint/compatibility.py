"""Lists every AWS operation that this endpoint answers and its differences from AWS, for the documentation."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_account.moto import longtail
from torpor_account.services import AwsService
from torpor_endpoint.services.service_register import SERVICES


@dataclass(frozen=True)
class Face:
    """One service, by botocore's name. `rest` says what happens to its other operations."""

    service: str
    operations: Collection[str]
    differences: Mapping[str, str]
    without_effect: Mapping[str, Collection[str]]
    rest: str


def _face(service: AwsService[Any]) -> Face:
    tables = service.tables()
    return Face(service.name, tables.operations, tables.differences, tables.without_effect, service.rest)


FACES: tuple[Face, ...] = tuple(map(_face, SERVICES))

MOTO_ALONE: tuple[str, ...] = tuple(sorted(longtail.SERVICES.keys() - {service.name for service in SERVICES}))
"""The services that moto answers alone. moto keeps their resources in memory, and no part of Torpor acts on them."""
