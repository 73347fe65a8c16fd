"""`torpor.confirm`: sends a plan's own trace to a live endpoint, and puts the forecast beside what came of it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np

from torpor.calling.connection import EndpointConnection
from torpor.confirming.core.difference_causes import causes
from torpor.confirming.core.forecast_beside_fact import (
    ConfirmedFigure,
    ConfirmedGoal,
    ForecastBesideFact,
    LiveVerdict,
    StepMeans,
    TrafficFigures,
)
from torpor.confirming.core.sent_part import SendingBudget, SentPart, chosen
from torpor.confirming.live_endpoint import ConfirmingEndpoint, running, started
from torpor.confirming.live_sending import lived
from torpor.confirming.queued_requests import REQUESTS_MAX as QUEUED_MAX
from torpor.errors import EndpointRefused, TorporError
from torpor.pages.model_retiring import retire
from torpor.replay.paced_sending import Body, ReplayPace, Watch, replay, unwatched
from torpor.replay.replay_result import Replayed
from torpor.simulator.costs.ways_to_serve import CostTerms
from torpor.simulator.engine.simulated_variant import SimulatedLife, Simulation
from torpor.simulator.planning.plan_result import PlanResult
from torpor.simulator.planning.plan_verdict import at_bound
from torpor.simulator.planning.recorded_plan import ConfirmablePlan, confirmable
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, names_of
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import run
from torpor.time_units import HOUR_S
from torpor.value_rules import COUNT, MORE, Kind, check
from torpor.workloads import Chunk, Paced, Recorded, Trace
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pricing.catalogue import CATALOGUE
from torpor_endpoint.core.pricing.prices import PRICES, Prices

WITHIN_S = 600.0
REQUESTS_MAX = 20_000
FIRST = "first-of-all-"
GAP_S = 3.0
"""A longer quiet time is skipped: the clock of an endpoint that is started for the purpose moves on."""

ARGUMENTS: Mapping[str, Kind] = {
    "speed": MORE, "within_s": MORE, "requests_max": COUNT, "in_flight_max": COUNT,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Confirmation:
    """A plan's forecast beside what a live endpoint did with the same requests."""

    scenario: Scenario
    part: SentPart
    compared: ForecastBesideFact
    causes: tuple[str, ...]
    replayed: Replayed
    forecast: SimulationResult

    @property
    def verdict(self) -> LiveVerdict:
        """Whether the live endpoint met the goal as forecast: the same, reversed, undecided if they differ and the
        forecast is at the goal's bound, or unknown on a busy machine."""
        return self.compared.verdict

    @property
    def figures(self) -> tuple[ConfirmedFigure, ...]:
        return tuple(self.compared.figures)

    def frame(self) -> Any:
        """A data frame with a row for each figure: forecast, live, the difference and the simulator's aim. Raises
        MissingExtra."""
        from torpor.pages.data_frames import pandas

        return pandas().DataFrame([one.__dict__ for one in self.figures])

    def __str__(self) -> str:
        live = {True: "meets", False: "does not meet", None: "cannot be judged for"}[self.compared.live_meets]
        forecast = "meets" if self.compared.forecast_meets else "does not meet"
        return f"{self.scenario.name}: live it {live} {self.compared.goal}; forecast: it {forecast} that"


def confirm(
    plan: PlanResult | ConfirmablePlan | Path | str,
    *,
    body: Body | tuple[str, bytes],
    models: Path | str | None = None,
    endpoint: str | None = None,
    url: str | None = None,
    containers: Mapping[str, Path | str] = {},
    speed: float = 1.0,
    within_s: float = WITHIN_S,
    requests_max: int = REQUESTS_MAX,
    in_flight_max: int = 64,
    prices: Prices = PRICES,
    watch: Watch = unwatched,
) -> Confirmation:
    """Send a plan's own trace to a live endpoint of exactly its configuration, and compare the forecast with the fact.

    - `plan` is what `torpor.plan` returned, or the file that `torpor plan --out` wrote.
    - `models` is a folder of the artifacts that the trace names. An endpoint is started for it, and ends again; its
      clock moves over quiet times of more than three seconds. Or `endpoint` is the name of one that runs, at `url`,
      without traffic of others; it is refused if its configuration is not the plan's.
    - `containers` has the artifacts of a pipeline's containers beside the one with the models, by their names.
    - `body` is the media type and the body of every request, or makes them from a model and a request's bytes.
    - `speed`: how many times as fast as the trace. The forecast is simulated at the same speed.
    - `within_s` and `requests_max` bound the seconds of sending and the requests: of a longer trace, the busiest part
      is sent, and the forecast is of that part.

    Raises TorporError, BadTrace, BadScenario, EndpointFailed, EndpointUnreachable.
    """
    arguments = {"speed": speed, "within_s": within_s, "requests_max": requests_max, "in_flight_max": in_flight_max}
    check(BadScenario, ARGUMENTS, arguments)
    if (models is None) == (endpoint is None):
        raise TorporError("say which models: models= is a folder of artifacts, or endpoint= an endpoint that runs")
    wanted = plan if isinstance(plan, ConfirmablePlan) else confirmable(plan)
    if wanted.scenario.asynchronous:
        requests_max = min(requests_max, QUEUED_MAX)
    others = {name: Path(artifact) for name, artifact in containers.items()}
    of = body if callable(body) else _always(body)
    with _endpoint(wanted, of, models, others, endpoint, url) as live:
        gap_s = GAP_S if live.movable else inf
        part, trace = _part(wanted.inputs.trace, SendingBudget(within_s, requests_max, speed, gap_s))
        inputs = replace(wanted.inputs, trace=Paced(trace, speed))
        forecast, here = forecasted(inputs, _called_before(wanted.scenario, endpoint), wanted.goal.slo_s, prices)
        pace = ReplayPace(speed, in_flight_max)
        outcome = lived(trace, live, of, pace, gap_s, wanted.goal.slo_s, forecast.duration_s, watch)
    goal = ConfirmedGoal(wanted.goal.slo_s, wanted.goal.quantile)
    again_usd = by_live_times(forecast, outcome.figures, prices)
    compared = ForecastBesideFact(
        goal, here, outcome.figures, outcome.strain, again_usd,
        by_duration=wanted.scenario.serverless is not None, scales=scales_up(wanted.scenario),
        at_bound=at_bound(wanted.goal, forecast),
    )  # fmt: skip
    why = causes(compared, _processors(wanted.scenario), outcome.replayed.messages)
    return Confirmation(wanted.scenario, part, compared, tuple(why), outcome.replayed, forecast)


def forecasted(
    inputs: SimulationInputs, scenario: Scenario, slo_s: float, prices: Prices = PRICES
) -> tuple[SimulationResult, TrafficFigures]:
    """The simulation of a trace, and its figures."""
    lives: list[SimulatedLife] = []

    def over(simulation: Simulation) -> None:
        lives.extend(simulation.lives)

    result = run(inputs, scenario, over=over)
    answered = result.requests > result.failed
    figures = TrafficFigures(
        result.requests,
        result.failed,
        round(result.slo_misses(slo_s) * result.requests),
        result.warm,
        result.loads,
        result.evictions,
        result.wakes,
        _most(lives),
        result.p50_s if answered else None,
        result.p99_s if answered else None,
        result.instance_s,
        result.cost(prices).usd,
        _steps(inputs, scenario, result),
        result.served.predict_ms,
    )
    return result, figures


def scales_up(scenario: Scenario) -> bool:
    """Whether slower requests get more instances."""
    return scenario.scaled is not None and scenario.scaled.ceiling > 1


def by_live_times(forecast: SimulationResult, live: TrafficFigures, prices: Prices = PRICES) -> float | None:
    """The bill by the forecast's arithmetic, of the live endpoint's seconds of instances and of predictions. None if it
    has no price, or the live seconds are not known."""
    if live.instance_s is None:
        return None
    calls = replace(forecast.served, predict_ms=live.billed_ms)
    terms = CostTerms(prices, forecast.duration_s / HOUR_S)
    return forecast.cost_of(live.instance_s, calls, terms).usd


# -- inside ------------------------------------------------------------------------------------------------------------
@contextmanager
def _endpoint(
    wanted: ConfirmablePlan,
    body: Body,
    models: Path | str | None,
    containers: Mapping[str, Path],
    endpoint: str | None,
    url: str | None,
) -> Iterator[ConfirmingEndpoint]:
    if endpoint is not None:
        yield running(EndpointConnection.configured(url).identified(), endpoint, wanted.scenario)
        return
    assert models is not None
    if not Path(models).is_dir():
        raise TorporError(f"models: {models} is no folder of artifacts")
    names = names_of(wanted.inputs.trace)
    first = None if wanted.scenario.asynchronous or not names else partial(_call_first, names[0], body)
    with started(wanted.scenario, Path(models), containers, first) as found:
        yield found


def _call_first(model: str, body: Body, endpoint: ConfirmingEndpoint, folder: Path) -> None:
    """Have a copy of this model answer and leave: what the models import is loaded once in an endpoint's life."""
    if not (folder / model).is_file():
        return
    copied = (folder / model).with_name(f"{FIRST}{(folder / model).name}")
    copy(folder / model, copied)
    name = str(copied.relative_to(folder))
    called = Recorded([name], [Chunk(np.zeros(1), np.zeros(1, np.int32))])
    replay(called, endpoint.target, lambda name, size: body(model, size))
    with suppress(EndpointRefused):  # no instance has it
        retire(endpoint.connection, endpoint.name, name, PageName.UNLOAD)


def _called_before(scenario: Scenario, endpoint: str | None) -> Scenario:
    """The scenario of an endpoint that has imported what models need: one that runs, or that answered a first call."""
    first_called = endpoint is not None or not scenario.asynchronous
    return scenario.altered(imports_s=0.0) if first_called else scenario


def _part(trace: Trace, budget: SendingBudget) -> tuple[SentPart, Recorded]:
    """The requests that are sent, in memory, the first at 0."""
    chunks = list(trace.chunks())
    times_s = np.concatenate([chunk.times_s for chunk in chunks])
    models = np.concatenate([chunk.models for chunk in chunks])
    sizes = [chunk.request_bytes for chunk in chunks if chunk.request_bytes is not None]
    part = chosen(times_s, budget)
    rows = slice(part.since, part.until)
    sent = Chunk(times_s[rows] - times_s[rows][0], models[rows], np.concatenate(sizes)[rows] if sizes else None)
    return part, Recorded(tuple(trace.names), [sent], trace.lasts_s if part.whole else None)


def _always(body: tuple[str, bytes]) -> Callable[[str, int | None], tuple[str, bytes]]:
    return lambda model, request_bytes: body


def _processors(scenario: Scenario) -> int:
    if scenario.serverless is not None:
        return 1  # it has as many instances as its requests keep busy
    most = scenario.instances if scenario.scaled is None else scenario.scaled.ceiling
    return most * (scenario.processors or CATALOGUE[scenario.instance_type].vcpus)


def _most(lives: list[SimulatedLife]) -> int:
    """The most instances that were ready at one moment."""
    ready = [one for one in lives if one.ready_s is not None]
    began = [(one.ready_s or 0.0, 1) for one in ready]
    ended = [(one.retired_s, -1) for one in ready if one.retired_s is not None]
    most = now = 0
    for _, step in sorted([*began, *ended]):
        now += step
        most = max(most, now)
    return most


def _steps(inputs: SimulationInputs, scenario: Scenario, result: SimulationResult) -> StepMeans:
    """The profiles' times of the steps, as often as each model was called and loaded."""

    def mean_s(times: list[tuple[float, int]]) -> float | None:
        of = sum(weight for _, weight in times)
        return sum(seconds * weight for seconds, weight in times) / of if of else None

    used = [(inputs.profile(use.model), use) for use in result.models]
    imports_s = scenario.imports_s / max(1, sum(use.cold > 0 for _, use in used))
    return StepMeans(
        scenario.wake_s if result.wakes else None,
        mean_s([(one.into_memory_s + (one.once_s + imports_s) / max(1, use.cold), use.cold) for one, use in used]),
        mean_s([(one.predict_delay_s + one.predict_s, use.requests - use.failed) for one, use in used]),
        scenario.overhead_s or None,
    )
