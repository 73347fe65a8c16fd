"""`torpor.simulate`: a trace, what its models take, and a scenario; in comes what people have, out comes a `Result`."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from torpor.pages.story import counted
from torpor.simulator import fitting
from torpor.simulator.engine.calls import SimulatedCall
from torpor.simulator.engine.consistency import ConsistencyCheck
from torpor.simulator.engine.kernel import Kernel
from torpor.simulator.engine.variant import Recorded, Simulation
from torpor.simulator.fitting import Memory
from torpor.simulator.outcome import OutcomeTally, Result, outcome
from torpor.simulator.scenario import MIB, BadScenario, Scenario
from torpor.validation import NUMBER, Kind, ValueRule, a, check, optional, whole
from torpor.workloads import (
    Azure2019,
    BadTrace,
    Chunk,
    First,
    LedgerFile,
    Paced,
    Synthetic,
    TimedTrace,
    Trace,
    drawn,
    named,
    requests,
)
from torpor.workloads.profile import ModelProfile, Spread
from torpor.workloads.reading import contents
from torpor_container.core.policies import OFFLINE, Future, Policy
from torpor_container.core.residency import Decision
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, LARGEST

Profiles = Mapping[str, ModelProfile]

SIGMA_MAX = 5.0
"""So wide that a single time is mostly a hundredth or a hundred times what its profile has."""
SIGMA = (NUMBER, ValueRule(f"is from 0 to {SIGMA_MAX:g}", lambda value: 0 <= value <= SIGMA_MAX))


@dataclass(frozen=True)
class Spreads:
    """How far single times stray from their profile: standard deviations of the logarithm. Raises BadScenario."""

    predict_sigma: float = 0.0
    load_sigma: float = 0.0
    wake_sigma: float = 0.0

    def __post_init__(self) -> None:
        check(BadScenario, dict.fromkeys(self.__dict__, SIGMA), self.__dict__)


TRACE: Kind = (
    ValueRule(
        "is a file's name, a made one's line as zipf:models=500, or one of torpor.workloads, which has"
        " recorded([(time_s, model), ...]) for rows at hand",
        lambda value: isinstance(value, Path | str) or hasattr(value, "chunks"),
    ),
)
GIVEN: Mapping[str, Kind] = {
    "scenario": optional(a(Scenario, "is a torpor.Scenario")),
    "seed": whole(0),
    "spreads": optional(a(Spreads, "is a Spreads, as of torpor.simulator.running")),
    "recorded": optional((ValueRule("is a function of a slot and a decision", callable),)),
}


def simulate(
    trace: Trace | Path | str,
    profiles: Profiles | Path | str | None = None,
    scenario: Scenario | None = None,
    *,
    seed: int = 0,
    spreads: Spreads | None = None,
    lasts_s: float | None = None,
    recorded: Recorded | None = None,
    **changes: Any,
) -> Result:
    """What a multi-model variant would do with this traffic, decided by the live endpoint's own code.

    `trace` is one of `torpor.workloads`, or a file of one (CSV, Parquet, or an endpoint's
    `ledger.sqlite`, with `#endpoint/variant` if it has several), or a made one by its line:
    `zipf:models=500,rate_hz=20,duration_s=3600`.
    `profiles` say what each model takes: by name, or a CSV file of them, or a ledger, which they are fitted to. Without
    them a ledger's own times are fitted, and for other traces they are drawn, which the result says. The scenario's
    fields may be given by name: `simulate("calls.csv", instances=2, policy="GDSF")`. The same seed tells the same story
    to the byte; another one has other draws, of a made trace by its line too: the seed is added to that of the line. A
    trace that is given as an object is what it is. `lasts_s` is for how long the trace was recorded, quiet included,
    where the trace does not tell: without it, it ends with its last request. `recorded` is told every decision. A
    scenario that is given is taken as it is; without one, what a ledger measured is in it: wake and overhead, the
    instances' type and memory, and what they take of that by themselves.

    Raises BadTrace, BadScenario.
    """
    check(BadScenario, GIVEN, {"scenario": scenario, "recorded": recorded})
    given = load(trace, profiles, seed=seed, spreads=spreads, lasts_s=lasts_s)
    return run(given, (scenario or given.scenario).altered(**changes), recorded)


@dataclass(frozen=True, eq=False)
class Given:
    """What happens to a scenario: the traffic, what its models take, and the seed of all that is drawn."""

    trace: Trace
    profiles: Profiles = field(repr=False)
    spreads: Spreads
    seed: int
    what: str
    assumed: tuple[str, ...] = ()
    redrawn: bool = False  # the profiles were drawn too
    profiled: str = ""  # the file that the profiles are from
    scenario: Scenario = field(default_factory=Scenario)  # with the figures that were measured with the traffic
    watched: Callable[[int], None] | None = field(default=None, repr=False)  # told of every some requests that ended

    def profile(self, name: str) -> ModelProfile:
        if name not in self.profiles:
            raise _without_profile(name, self.profiled)
        return self.profiles[name]

    def spread(self) -> Spread:
        """The factors of single times, from the first one on."""
        return Spread(**self.spreads.__dict__, seed=self.seed)

    @property
    def drawn(self) -> bool:
        """Whether another seed tells another story."""
        return self.redrawn or self.spreads != Spreads() or drawn_anew(self.trace, 1) is not self.trace

    def reseeded(self, seed: int) -> "Given":
        """Another draw of the same: of the traffic, of what its models take and of single times, as far as drawn."""
        profiles = drawn(list(self.trace.names), seed) if self.redrawn else self.profiles
        return replace(self, trace=drawn_anew(self.trace, seed - self.seed), profiles=profiles, seed=seed)


def load(
    trace: Trace | Path | str,
    profiles: Profiles | Path | str | None = None,
    *,
    seed: int = 0,
    spreads: Spreads | None = None,
    lasts_s: float | None = None,
) -> Given:
    """Reads what is a file, fits what a ledger has, and draws what is not given. Raises BadTrace, BadScenario."""
    check(BadScenario, GIVEN, {"seed": seed, "spreads": spreads})
    given = _loaded(trace, profiles, seed, spreads)
    return given if lasts_s is None else replace(given, trace=TimedTrace(given.trace, lasts_s, given.what))


def _loaded(
    trace: Trace | Path | str, profiles: Profiles | Path | str | None, seed: int, spreads: Spreads | None
) -> Given:
    check(BadTrace, {"trace": TRACE}, {"trace": trace})
    what = f"{trace}" if isinstance(trace, Path | str) else getattr(trace, "what", type(trace).__name__.lower())
    opened = drawn_anew(named(trace), seed) if isinstance(trace, Path | str) else trace
    if profiles is not None:
        profiled = f"{profiles}" if isinstance(profiles, Path | str) else ""
        known, measured = (
            fitting.source(profiles) if isinstance(profiles, Path | str) else (fitting.sound(profiles), None)
        )
        _held_by_an_instance(known)
        around = Scenario() if measured is None else _around(measured)
        spread = Spreads() if measured is None else _spreads(measured)
        left_out = _left_out(opened)
        return Given(opened, known, spreads or spread, seed, what, left_out, profiled=profiled, scenario=around)
    if isinstance(opened, LedgerFile):
        return _fitted(opened, spreads, seed, what)
    assumed = "the sizes and times of all models: drawn by the laws of torpor.workloads.TABULAR"
    return Given(opened, drawn(names_of(opened), seed), spreads or Spreads(), seed, what, (assumed,), redrawn=True)


def _fitted(ledger: LedgerFile, spreads: Spreads | None, seed: int, what: str) -> Given:
    """What the ledger has of the models, beside their calls."""
    found = fitting.fitted(ledger.path, ledger.endpoint, ledger.variant)
    measured, around = spreads or _spreads(found), _around(found)
    assumed = (f"the times of {len(found.assumed):,} models: by a law of the others",) if found.assumed else ()
    return Given(ledger, found.profiles, measured, seed, what, (*assumed, *_left_out(ledger)), scenario=around)


def _held_by_an_instance(profiles: Profiles) -> None:
    """Raises BadTrace for a model that is larger than any instance's memory: nobody sells what could serve it."""
    for name, one in profiles.items():
        if one.memory_bytes > LARGEST.memory_mib * MIB:
            has = f"{LARGEST.name}, the largest type there is, has {LARGEST.memory_mib // 1024:,} GiB"
            raise BadTrace(
                f"model {name!r} needs {one.memory_bytes:,} bytes of memory, and no instance holds it: {has}"
            )


def _around(found: fitting.Fitted) -> Scenario:
    """What was measured beside the models' own times."""
    around = Scenario(overhead_s=found.overhead_s, beside_load_s=found.beside_load_s)
    if found.wake_s is not None:
        around = around.altered(wake_s=found.wake_s)
    return around if found.memory is None else around.altered(**measured_memory(found.memory))


def _spreads(found: fitting.Fitted) -> Spreads:
    return Spreads(found.predict_sigma, found.load_sigma)


def measured_memory(memory: Memory) -> dict[str, Any]:
    """Of the instances that a ledger tells of: their type, where that is one, their memory, and what they take of it by
    themselves."""
    known, memory_mib = CATALOGUE.get(memory.size), memory.budget_bytes / MIB
    own: dict[str, Any] = {"own_bytes": memory.own_bytes}
    if known is None:
        return own | {"memory_mib": memory_mib}
    as_its_type = known.memory_mib == memory_mib
    return own | {"instance_type": memory.size, "memory_mib": None if as_its_type else memory_mib}


def _left_out(trace: Trace) -> tuple[str, ...]:
    """What is to be said of a ledger's requests that are not played."""
    if not isinstance(trace, LedgerFile) or not trace.refused:
        return ()
    requests, names = counted(sum(trace.refused.values()), "request"), counted(len(trace.refused), "name")
    return (f"{requests} for {names} that only ever got errors: no models, and left out",)


def run(
    given: Given,
    scenario: Scenario,
    recorded: Recorded | None = None,
    listener: Callable[[list[SimulatedCall]], None] | None = None,
    begun: Callable[[Simulation], None] | None = None,
    over: Callable[[Simulation], None] | None = None,
) -> Result:
    """One scenario over it. `listener` gets the calls as they end, some at a time, and may break it off by raising;
    `begun` gets the simulation before its first request, and `over` when it has ended.

    Raises BadTrace for a model that has no profile.
    """
    kernel, tally, trace = (
        Kernel(),
        OutcomeTally(scenario.overhead_s, scenario.beside_load_s),
        CountedTrace(Paced(given.trace)),
    )
    simulation = Simulation(
        scenario.plan,
        _Known(given),
        _told(tally, listener, given.watched),
        recorded,
        given.spread(),
        _offline(scenario.policy, given.trace, kernel),
        kernel,
    )
    _watch(simulation, tally)
    if begun is not None:
        begun(simulation)
    began_s = time.process_time()
    with _no_collections():
        simulation.run(trace)
    took_s = time.process_time() - began_s
    if over is not None:
        over(simulation)
    return outcome(
        scenario, simulation, tally, trace=given.what, seed=given.seed, assumed=given.assumed,
        moved_bytes=trace.moved_bytes, took_s=took_s,
    )  # fmt: skip


def recounted(given: Given, scenario: Scenario, recorded: Recorded | None = None) -> Result:
    """The same, and then what it counted is counted again from the log, as `checks` says. Raises Inconsistent.

    Every call and decision is kept for it: for traces that fit into memory.
    """
    recount = ConsistencyCheck()

    def both(slot: str, decision: Decision) -> None:
        recount.recorded(slot, decision)
        if recorded is not None:
            recorded(slot, decision)

    return run(given, scenario, both, recount.on_calls, recount.watch, recount.verify)


@dataclass
class DecisionDigest:
    """A fingerprint of all decisions: equal for equal stories. Give it as `recorded`."""

    decisions: int = 0
    _hash: Any = field(default_factory=sha256)

    def __call__(self, slot: str, decision: Decision) -> None:
        self.decisions += 1
        self._hash.update(f"{slot} {decision!r}\n".encode())

    @property
    def hex(self) -> str:
        digest: str = self._hash.hexdigest()
        return digest


def drawn_anew(trace: Trace, by: int) -> Trace:
    """Another draw of a trace, or of the first part of one, with a seed that is so much higher. Only moments that were
    recorded are what they are: a ledger has the minutes of warm requests."""
    if isinstance(trace, Synthetic | LedgerFile | Azure2019) and by:
        return replace(trace, seed=trace.seed + by)
    if isinstance(trace, First | TimedTrace | Paced):
        inner = drawn_anew(trace.trace, by)
        return trace if inner is trace.trace else replace(trace, trace=inner)
    return trace


def names_of(trace: Trace) -> list[str]:
    """The models of a trace, which may have to be read once for them."""
    if not isinstance(trace, Synthetic):
        for _ in trace.chunks():
            pass
    return list(trace.names)


def requests_of(trace: Trace) -> int:
    """How many it has, for which it is read once."""
    return sum(map(len, trace.chunks()))


@dataclass
class CountedTrace:
    """A trace, and the bytes that came with the requests that were read."""

    trace: Trace
    moved_bytes: int = 0

    @property
    def names(self) -> Sequence[str]:
        return self.trace.names

    @property
    def lasts_s(self) -> float | None:
        return self.trace.lasts_s

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.trace.chunks():
            if chunk.request_bytes is not None:
                self.moved_bytes += int(chunk.request_bytes.sum())
            yield chunk


# -- inside ------------------------------------------------------------------------------------------------------------
class _Known(dict[str, ModelProfile]):
    def __init__(self, given: Given) -> None:
        super().__init__(given.profiles)
        self._profiled = given.profiled

    def __missing__(self, name: str) -> ModelProfile:
        raise _without_profile(name, self._profiled)


def _without_profile(name: str, profiled: str) -> BadTrace:
    """`profiled` is where the others are from."""
    ledger = bool(profiled) and contents.kind(fitting.divided(profiled)[0]) == contents.SQLITE
    told = "call it there, and wait for the minute's end" if ledger else "add a row with its model and memory_bytes to"
    add = "" if not profiled else f", which {profiled} tells nothing of: {told}" if ledger else f": {told} {profiled}"
    return BadTrace(f"model {name!r} is called, and has no profile{add}")


def _told(
    tally: OutcomeTally, listener: Callable[[list[SimulatedCall]], None] | None, watched: Callable[[int], None] | None
) -> Callable[[list[SimulatedCall]], None]:
    if listener is None and watched is None:
        return tally.add

    def told(calls: list[SimulatedCall]) -> None:
        if watched is not None:
            watched(len(calls))
        if listener is not None:
            listener(calls)
        tally.add(calls)

    return told


def _offline(name: str, trace: Trace, kernel: Kernel) -> Callable[[], Policy] | None:
    """For a policy that knows the trace, whose moments are the kernel's."""
    if name.upper() not in OFFLINE:
        return None
    future = Future(requests(Paced(trace)), lambda: kernel.now_s)
    return lambda: OFFLINE[name.upper()](future)


def _watch(simulation: Simulation, tally: OutcomeTally) -> None:
    """Look at the end of each of the timeline's steps, until there is no more to see: after the last request until
    nobody is awake who may sleep."""
    kernel, timeline = simulation.kernel, tally.timeline

    def look(simulation: Simulation) -> None:
        seen = simulation.reading()
        timeline.seen(seen)
        if not simulation.quiet:
            kernel.at((seen.at_s // timeline.period_s + 1) * timeline.period_s, look, simulation)

    kernel.at(timeline.period_s, look, simulation)


@contextmanager
def _no_collections() -> Iterator[None]:
    """A simulation makes no rubbish that refers to itself, and looking for some takes a third of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
