"""A plan as its file has it: enough to simulate it again, and to confirm it with a live endpoint."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from torpor.errors import TorporError
from torpor.simulator.planning.plan_result import PlanResult
from torpor.simulator.planning.plan_space import Goal
from torpor.simulator.planning.search import PlanCandidate
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, Spreads, TraceSource, load
from torpor.workloads import First
from torpor.workloads.profile import ContainerProfile
from torpor_container.typed_json import UnreadableRecord, read, written
from torpor_endpoint.core.resource_records import Serverless

ACCEPTED = "it is what `torpor plan TRACE --slo-ms … --json` or `torpor tune` prints, or what --out writes"


class Planned(Protocol):
    """The result of a search for the cheapest scenario that meets a goal."""

    @property
    def goal(self) -> Goal: ...

    @property
    def inputs(self) -> SimulationInputs: ...

    @property
    def best(self) -> PlanCandidate | None: ...

    @property
    def requests(self) -> int: ...


@dataclass(frozen=True)
class RecordedPlan:
    """A plan in a file. `scenario` has the fields of a Scenario; it is None if nothing met the goal."""

    slo_s: float
    quantile: float
    source: TraceSource
    scenario: Mapping[str, Any] | None = None
    played: int = 0  # the requests of the trace that were simulated, from its beginning

    @classmethod
    def of(cls, found: Planned) -> "RecordedPlan":
        scenario = None if found.best is None else written(found.best.scenario)
        inputs = found.inputs if found.best is None else found.inputs.fitting(found.best.scenario)
        return cls(found.goal.slo_s, found.goal.quantile, inputs.source, scenario, found.requests)

    def inputs(self, folder: Path) -> SimulationInputs:
        """What the plan was simulated with, read again. Files are looked for in the present folder, and then beside the
        plan, in `folder`. Raises TorporError, BadTrace, BadScenario."""
        source = self.source
        if not source.trace:
            raise TorporError("the plan's trace was not in a file: pass the PlanResult itself, or give trace=")
        profiles = _beside(folder, source.profiles) if source.profiles else None
        spreads = None if source.spreads is None else Spreads(**source.spreads)
        found = load(_beside(folder, source.trace), profiles, seed=source.seed, spreads=spreads, lasts_s=source.lasts_s)
        return found if not self.played else replace(found, trace=First(found.trace, self.played))


@dataclass(frozen=True)
class ConfirmablePlan:
    """What is confirmed: a scenario, the goal that it is to meet, and what it was simulated with."""

    inputs: SimulationInputs = field(repr=False)
    scenario: Scenario
    goal: Goal


def confirmable(plan: PlanResult | Path | str) -> ConfirmablePlan:
    """The plan, or that of a file. Raises TorporError for a file that is none, and where nothing met the goal."""
    if isinstance(plan, PlanResult):
        if plan.best is None:
            raise TorporError(f"there is no plan to confirm: nothing in its space meets {plan.goal}")
        return ConfirmablePlan(plan.inputs, plan.best.scenario, plan.goal)
    recorded = read_plan(Path(plan))
    if recorded.scenario is None:
        raise TorporError(f"{plan}: there is no plan to confirm: nothing in its space met the goal")
    inputs = recorded.inputs(Path(plan).parent)
    return ConfirmablePlan(inputs, _scenario(recorded.scenario), Goal(recorded.slo_s, recorded.quantile))


def read_plan(file: Path) -> RecordedPlan:
    """Read a plan's file. Raises TorporError, OSError."""
    try:
        return read(RecordedPlan, json.loads(file.read_text(encoding="utf-8")))
    except (UnreadableRecord, ValueError) as error:
        raise TorporError(f"{file} is no plan: {ACCEPTED} ({error})") from error


def _scenario(fields: Mapping[str, Any]) -> Scenario:
    """Raises BadScenario."""
    containers = [one for one in fields.get("containers", ()) if isinstance(one, Mapping)]
    of_records: dict[str, Any] = {"containers": tuple(ContainerProfile(**one) for one in containers)}
    if fields.get("serverless") is not None:
        of_records["serverless"] = read(Serverless, fields["serverless"])
    return Scenario().altered(**{**fields, **of_records})


def _beside(folder: Path, name: str) -> str:
    """The name as it is, if it is a file's or a synthetic trace's; or the file's name below the folder."""
    path, hashed, part = name.partition("#")
    beside = folder / path
    return f"{beside}{hashed}{part}" if not Path(path).exists() and beside.exists() else name
