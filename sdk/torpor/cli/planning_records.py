"""What `torpor plan`, `torpor tune` and `torpor confirm` print with `--json`, as records."""

from dataclasses import dataclass
from typing import Any

from torpor.cli.simulation_records import GroupFigures, ScenarioFigures
from torpor_endpoint.core.pricing.bills import BillLine


@dataclass(frozen=True)
class PolicyFigures(ScenarioFigures):
    """What a scenario gave with one eviction policy and the worst seed: `late` is the share of late requests, and
    `meets` whether it meets the SLO."""

    late: float
    meets: bool


@dataclass(frozen=True)
class OptionEntry:
    """One way to serve the traffic, by the worst of the `seeds` that it was simulated with: `late` is the share of late
    requests, and `meets` whether it meets the SLO. `hit_ratio` is null without a multi-model endpoint."""

    name: str
    usd_per_month: float | None
    hit_ratio: float | None
    late: float
    p99_s: float
    meets: bool
    multi_model: bool
    seeds: int
    on_aws: bool  # whether AWS has it too


@dataclass(frozen=True)
class SpreadEntry:
    """The least and the most of one of the plan's figures, over the seeds: `p99_s`, `late`, `hit_ratio` and
    `usd_per_month`. There is none where nothing is drawn."""

    figure: str
    least: float
    most: float


@dataclass(frozen=True)
class PlanSource:
    """The trace and the profiles as they were named, empty for none; `spreads` is null unless they were given."""

    trace: str
    profiles: str
    seed: int
    lasts_s: float | None
    spreads: dict[str, Any] | None


@dataclass(frozen=True)
class PlanOutput:
    """`plan` is the name of the option that the plan is, null if none meets the SLO; `create_endpoint_config` has the
    members of the call that deploys it, `environment` is for the container of its model. `torpor confirm` reads
    `source`, `scenario` (the fields of torpor.Scenario) and `played` (requests); `forecast` is by the search's own
    seed, and `bill` has the lines of its bill for a month. `verdict` says whether the plan meets the
    goal, is undecided, or nothing meets it, and `doubts` why it is undecided."""

    slo_s: float
    quantile: float
    requests: int
    plan: str | None
    answer: str
    create_endpoint_config: dict[str, Any] | None
    environment: dict[str, Any] | None
    options: tuple[OptionEntry, ...]
    policies: tuple[PolicyFigures, ...]
    assumed: tuple[str, ...]
    left_out: tuple[str, ...]
    bill: tuple[BillLine, ...]
    source: PlanSource
    scenario: dict[str, Any] | None
    forecast: ScenarioFigures | None
    played: int
    spread: tuple[SpreadEntry, ...]
    verdict: str
    doubts: tuple[str, ...]


@dataclass(frozen=True)
class ConfirmedEntry:
    """One figure. `off` is in percentage points of a share, and in percent of the live figure otherwise, as is `aim`.
    `agrees` is null for a time on a machine that was too busy, and for a figure that is not known."""

    figure: str
    forecast: float | None
    live: float | None
    off: float | None
    aim: float
    agrees: bool | None


@dataclass(frozen=True)
class ConfirmOutput:
    """`verdict` is the same, reversed, undecided or unknown; `at_bound` is whether the forecast is too near the
    goal's bound to decide; `live_meets` is null if the machine was too busy to judge.
    `waiting_share` is the share of the time in which some process waited for a processor, `sent_late_p99_s` how late
    requests were sent. `requests` of the trace's `of` were sent, from second `since_s`."""

    plan: str
    verdict: str
    forecast_meets: bool
    live_meets: bool | None
    slo_s: float
    quantile: float
    requests: int
    of: int
    since_s: float
    lasts_s: float
    quiet_s: float
    speed: float
    figures: tuple[ConfirmedEntry, ...]
    causes: tuple[str, ...]
    busy: bool
    waiting_share: float
    sent_late_p99_s: float
    processors: int
    counts_agree: bool  # whether all agrees that does not depend on how fast the machine is
    at_bound: bool


@dataclass(frozen=True)
class SettingEntry:
    """A setting, with its chosen value. Changed alone to a value of `no_difference`, the variant costs the same and has
    as many late requests; with one of `worse` it costs more, misses the SLO, or cannot be deployed. `untried` are those
    of which that is not known."""

    name: str
    chosen: str
    no_difference: tuple[str, ...]
    worse: tuple[str, ...]
    untried: tuple[str, ...]


@dataclass(frozen=True)
class TuneOutput:
    """`best` is the name of the best choice, null if nothing that was tried meets the SLO. `choices` is the size of the
    space, of which `evaluations` were simulated until the search `ended`. Of the trace's `of` requests, `requests` were
    simulated. `doubts` says what is not known. `torpor confirm` reads the file as that of a plan."""

    slo_s: float
    quantile: float
    requests: int
    of: int
    best: str | None
    answer: str
    choices: int
    evaluations: int
    ended: str
    create_endpoint_config: dict[str, Any] | None
    environment: dict[str, Any] | None
    settings: tuple[SettingEntry, ...]
    options: tuple[OptionEntry, ...]
    doubts: tuple[str, ...]
    assumed: tuple[str, ...]
    left_out: tuple[str, ...]
    bill: tuple[BillLine, ...]
    source: PlanSource
    scenario: dict[str, Any] | None
    forecast: ScenarioFigures | None
    played: int
    spread: tuple[SpreadEntry, ...]
    confirmed: tuple[ConfirmOutput, ...]


@dataclass(frozen=True)
class GroupOption(GroupFigures):
    """A scenario that was tried. `ended` is false of one that was stopped early: its figures are of the calls until
    then."""

    meets: bool
    ended: bool


@dataclass(frozen=True)
class GroupPlanOutput:
    """`plan` is the name of the scenario that the plan is, null if none meets the goal; `create_endpoint_config` has
    the members of the call that deploys it, `environment` is for the container of its model."""

    group: str
    quantile: float
    requests: int
    plan: str | None
    answer: str
    create_endpoint_config: dict[str, Any] | None
    environment: dict[str, Any] | None
    options: tuple[GroupOption, ...]
    assumed: tuple[str, ...]
    bill: tuple[BillLine, ...]
