"""What each command prints with `--json`: one record for each command, whose fields are the keys.

docs/reference/cli.md lists them all. A key keeps its name and meaning; a newer Torpor may add keys. Seconds end in
`_s`, bytes in `_bytes`, US dollars in `usd`; `at_s` are epoch seconds. What is not known is null.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from torpor.cli.planning_records import ConfirmOutput, GroupPlanOutput, PlanOutput, TuneOutput
from torpor.cli.simulation_records import GroupSimulateOutput, SimulateOutput
from torpor.pages.transform_jobs import ShownJob
from torpor_account.core.access.explaining.denial import Denial
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.pages.async_requests import AsyncRequestRow
from torpor_endpoint.core.pages.cold_starts import ColdStart
from torpor_endpoint.core.pages.costs import Costs
from torpor_endpoint.core.pages.model_origins import ModelOrigin
from torpor_endpoint.core.pages.model_versions import ModelVersions
from torpor_endpoint.core.pages.state import DecisionRow, ResidentModel, VariantState
from torpor_endpoint.core.pricing.quotes import Quote


@dataclass(frozen=True)
class EndpointEntry:
    """One endpoint. `status` and `failure_reason` are DescribeEndpoint's, `trouble` says why none serves it."""

    name: str
    status: str
    failure_reason: str
    trouble: str
    variants: tuple[VariantState, ...]


@dataclass(frozen=True)
class LsOutput:
    """`more`: there are others, beyond `--limit`."""

    endpoints: tuple[EndpointEntry, ...]
    more: bool = False


@dataclass(frozen=True)
class VersionsOutput:
    models: tuple[ModelVersions, ...]


@dataclass(frozen=True)
class StoryEntry:
    """One model's story. `cold_starts` is empty unless no running instance has decided anything about the model, and
    `origins` without `--origin`. `choices` has those of the group of this name, or those by which groups chose it."""

    endpoint: str
    model: str
    in_memory: tuple[ResidentModel, ...]
    decisions: tuple[DecisionRow, ...]
    cold_starts: tuple[ColdStart, ...]
    origins: tuple[ModelOrigin, ...] = ()
    choices: tuple[MadeChoices, ...] = ()


@dataclass(frozen=True)
class WhyOutput:
    stories: tuple[StoryEntry, ...]


@dataclass(frozen=True)
class WhyDeniedOutput:
    denial: Denial


@dataclass(frozen=True)
class ColdStartsOutput:
    """The latest cold starts, and how many there are without `--limit`."""

    cold_starts: tuple[ColdStart, ...]
    of: int


@dataclass(frozen=True)
class MetricEntry:
    """One metric of a variant, in CloudWatch's unit."""

    metric: str
    unit: str
    sum: float | None
    average: float | None
    p50: float | None
    p99: float | None


@dataclass(frozen=True)
class VariantMetricsEntry:
    endpoint: str
    variant: str
    metrics: tuple[MetricEntry, ...]


@dataclass(frozen=True)
class MetricsOutput:
    minutes: int
    variants: tuple[VariantMetricsEntry, ...]


@dataclass(frozen=True)
class TopRow:
    """One variant at one moment."""

    endpoint: str
    variant: str
    shadow: bool
    instances: int
    wanted: int
    used_bytes: int
    budget_bytes: int
    models: int
    in_flight: int
    held: int
    requests: int
    requests_per_s: float
    hit_ratio: float | None
    p50_s: float | None
    p99_s: float | None
    cold: int
    failed: int
    gpu_used_bytes: int = 0
    gpu_budget_bytes: int = 0
    """0 where the variant predicts on the processor."""


@dataclass(frozen=True)
class TopOutput:
    at_s: float
    variants: tuple[TopRow, ...]


@dataclass(frozen=True)
class UnpricedTypes:
    """What the list has no price of: of the types that Torpor hosts, and of the other items."""

    types: tuple[str, ...]
    items: tuple[str, ...]


@dataclass(frozen=True)
class PricesOutput:
    """The price list in use: each figure with its unit, its date and its source."""

    region: str
    dated: str
    source: str
    quotes: tuple[Quote, ...]
    without_a_price: UnpricedTypes


@dataclass(frozen=True)
class OutcomeEntry:
    """The requests that ended alike: `200`, or the code of an error. `message` is the first one's."""

    outcome: str
    requests: int
    cold_share: float | None
    p50_s: float
    p95_s: float
    p99_s: float
    message: str


@dataclass(frozen=True)
class ReplayOutput:
    endpoint: str
    requests: int
    failed: int
    wall_s: float
    in_flight_most: int
    late_p50_s: float | None
    late_p99_s: float | None
    interrupted: bool
    outcomes: tuple[OutcomeEntry, ...]


@dataclass(frozen=True)
class TransformOutput:
    """The job that is named, or all jobs, the newest last."""

    jobs: tuple[ShownJob, ...]


@dataclass(frozen=True)
class AsyncOutput:
    requests: tuple[AsyncRequestRow, ...]


OUTPUTS: Mapping[str, type] = {
    "ls": LsOutput,
    "why": WhyOutput,
    "why-denied": WhyDeniedOutput,
    "versions": VersionsOutput,
    "cold-starts": ColdStartsOutput,
    "costs": Costs,
    "prices": PricesOutput,
    "prices update": PricesOutput,
    "metrics": MetricsOutput,
    "top": TopOutput,
    "simulate": SimulateOutput,
    "simulate --group": GroupSimulateOutput,
    "plan": PlanOutput,
    "plan --group": GroupPlanOutput,
    "tune": TuneOutput,
    "replay": ReplayOutput,
    "confirm": ConfirmOutput,
    "transform ls": TransformOutput,
    "transform show": TransformOutput,
    "transform watch": TransformOutput,
    "async ls": AsyncOutput,
    "async show": AsyncOutput,
}
"""The record of each command with `--json`."""


def text(record: Any, indent: int | None = 2) -> str:
    """The record as JSON, with null for what is not a number. Without an indent it is one line."""
    return json.dumps(_plain(asdict(record)), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


# -- the keys, for the documentation -------------------------------------------------------------------------------
NAMES: Mapping[type, str] = {str: "text", int: "number", float: "number", bool: "true or false", NoneType: "null"}


def keys(record: type, above: str = "") -> Iterator[tuple[str, str]]:
    """Each key of a record with the kind of its value, also those below it: `variants[].name`, `text`."""
    hints = get_type_hints(record)
    for field in fields(record):
        yield from _key(f"{above}{field.name}", hints[field.name])


def _key(path: str, hint: Any) -> Iterator[tuple[str, str]]:
    if get_origin(hint) is tuple:
        path, hint = f"{path}[]", get_args(hint)[0]
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    record = next((one for one in options if is_dataclass(one)), None)
    if isinstance(record, type):
        if NoneType in options:
            yield path, "object or null"
        yield from keys(record, f"{path}.")
    else:
        yield path, " or ".join(dict.fromkeys(NAMES.get(one, "object") for one in options))
