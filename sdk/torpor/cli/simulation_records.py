"""What `torpor simulate --json` prints, as records: the figures of each scenario, of its components, and of a group."""

from dataclasses import dataclass

from torpor_endpoint.core.pricing.bills import BillLine


@dataclass(frozen=True)
class ScenarioFigures:
    """What a simulated scenario gave, as `torpor.simulate(…).summary()` has it."""

    scenario: str
    requests: int
    hit_ratio: float
    cold: int
    loads: int
    load_s: float
    evictions: int
    wakes: int
    p50_s: float
    p99_s: float
    failed: int
    instance_hours: float
    usd: float | None
    usd_per_month: float | None
    seed: int


@dataclass(frozen=True)
class ComponentFigures:
    """What one inference component of a scenario gave."""

    component: str
    requests: int
    cold: int  # waited for a copy, or in one for a model or an adapter
    failed: int
    copies: int  # at the end
    copy_hours: float  # of all its copies together
    unplaced: int  # how often a copy that was wanted had no room
    share: float  # of the instances' bill, by what its copies reserved
    loads: int  # of models of a multi-model container, or of adapters
    evictions: int  # of models of a multi-model container


@dataclass(frozen=True)
class SimulatedScenario(ScenarioFigures):
    """`late` is the share beyond `--slo-ms`; `shadow` are the figures of its shadow variant; `bill` has the lines that
    `usd_per_month` is the sum of; `components` are those of an endpoint of inference components."""

    late: float | None
    shadow: ScenarioFigures | None
    on_aws: bool  # whether AWS has such an endpoint too
    throttled: int  # of the failed requests: beyond a serverless variant's MaxConcurrency
    bill: tuple[BillLine, ...]
    components: tuple[ComponentFigures, ...] = ()
    entries: int = 0  # of models that came from memory onto a device


@dataclass(frozen=True)
class SimulateOutput:
    trace: str
    scenarios: tuple[SimulatedScenario, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ModelShare:
    """The share of a group's calls that a model answered."""

    model: str
    share: float


@dataclass(frozen=True)
class GroupFigures:
    """What the calls of a group came to in a scenario, by a rule: the shares that were late, inexact and dear, and of
    those that missed any need; the mean accuracy of the models that answered; and the price of the predictions."""

    scenario: str
    rule: str
    calls: int
    late: float
    inexact: float
    dear: float
    missed: float
    accuracy: float
    p99_s: float | None
    processing_usd: float | None
    usd_per_month: float | None
    models: tuple[ModelShare, ...]


@dataclass(frozen=True)
class GroupSimulateOutput:
    """A row for each scenario and rule."""

    group: str
    trace: str
    rows: tuple[GroupFigures, ...]
    notes: tuple[str, ...]
