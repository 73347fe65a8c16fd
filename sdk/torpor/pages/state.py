"""What an endpoint says of itself on its own pages, as values: endpoints, instances, models, and decisions."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from torpor.calling.connection import EndpointConnection

Record = TypeVar("Record")


@dataclass(frozen=True)
class ResidentModel:
    """A model in an instance's memory."""

    name: str
    size_bytes: int
    in_flight: int
    idle_s: float
    format: str
    hits: int
    instance: str = ""
    """The id of the one that holds it."""


@dataclass(frozen=True)
class InstanceState:
    """One instance. Bytes are 0 where it did not answer."""

    id: str
    slot: str
    in_flight: int
    budget_bytes: int = 0
    used_bytes: int = 0
    disk_bytes: int = 0
    disk_budget_bytes: int = 0
    models: tuple[ResidentModel, ...] = ()


@dataclass(frozen=True)
class VariantState:
    name: str
    wanted: int
    held: int
    instances: tuple[InstanceState, ...]


@dataclass(frozen=True)
class EndpointState:
    name: str
    variants: tuple[VariantState, ...]
    trouble: str = ""
    """Why nothing serves it at all, though it is in service."""

    @property
    def instances(self) -> Iterator[InstanceState]:
        return (instance for variant in self.variants for instance in variant.instances)


@dataclass(frozen=True)
class Status:
    """An endpoint as DescribeEndpoint has it."""

    name: str
    status: str
    failure_reason: str = ""


@dataclass(frozen=True)
class DecisionRow:
    """One decision about one model, in the instance's own words."""

    at_s: float  # epoch seconds
    model: str
    action: str
    reason: str = ""
    bytes: int = 0
    took_s: float = 0.0
    for_model: str = ""
    instance: str = ""


def names(sagemaker: Any) -> list[str]:
    """Of every endpoint there is, in order, through SageMaker's API."""
    pages = sagemaker.get_paginator("list_endpoints").paginate(SortBy="Name", SortOrder="Ascending")
    return [found["EndpointName"] for page in pages for found in page["Endpoints"]]


def statuses(connection: EndpointConnection) -> list[Status]:
    """Every endpoint there is, by name, through SageMaker's API."""
    sagemaker = connection.client("sagemaker")
    described = (sagemaker.describe_endpoint(EndpointName=name) for name in names(sagemaker))
    return [
        Status(found["EndpointName"], found["EndpointStatus"], found.get("FailureReason", "")) for found in described
    ]


def endpoints(connection: EndpointConnection) -> list[EndpointState]:
    """Every endpoint in service. Raises EndpointUnreachable."""
    return [_endpoint(page) for page in connection.json_page("endpoints")["endpoints"]]


def decisions(connection: EndpointConnection, endpoint: str, model: str) -> list[DecisionRow]:
    """The decisions about one model, oldest first. Raises EndpointRefused for an endpoint that is not in service."""
    page = connection.json_page("decisions", {"endpoint": endpoint, "model": model})
    return [picked(DecisionRow, record) for record in page["decisions"]]


def _endpoint(page: dict[str, Any]) -> EndpointState:
    return picked(EndpointState, {**page, "variants": tuple(_variant(variant) for variant in page["variants"])})


def _variant(page: dict[str, Any]) -> VariantState:
    return picked(VariantState, {**page, "instances": tuple(_instance(instance) for instance in page["instances"])})


def _instance(page: dict[str, Any]) -> InstanceState:
    models = tuple(picked(ResidentModel, {**model, "instance": page["id"]}) for model in page.get("models", ()))
    return picked(InstanceState, {**page, "models": models})


def picked(record: type[Record], page: dict[str, Any]) -> Record:
    """The fields that this version knows: a newer endpoint may say more."""
    known = {field.name for field in fields(record)}  # type: ignore[arg-type]  # every caller passes a dataclass
    return record(**{name: value for name, value in page.items() if name in known})
