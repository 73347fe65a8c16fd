"""The inputs of a simulation: reads traces and profiles from files, fits profiles to a ledger, and draws the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from torpor.simulator import fitting
from torpor.simulator.fitting.stand_ins import StandIns
from torpor.simulator.ledger_scenario import as_it_ran, setup_note
from torpor.simulator.pipeline_containers import SIGMA
from torpor.simulator.scenario import MIB, BadScenario, Scenario
from torpor.simulator.version_switches import TakenStep, recorded_steps
from torpor.value_rules import Kind, ValueRule, a, check, optional, whole
from torpor.workloads import Azure2019, BadTrace, First, LedgerFile, Paced, Synthetic, TimedTrace, Trace, drawn, named
from torpor.workloads.profile import ModelProfile, Spread
from torpor.workloads.trace_formats import file_kinds
from torpor_endpoint.core.pages.plain_figures import counted
from torpor_endpoint.core.pricing.catalogue import LARGEST, instance_type

Profiles = Mapping[str, ModelProfile]


@dataclass(frozen=True)
class Spreads:
    """How much single times vary around their profile: standard deviations of the logarithm. Raises BadScenario."""

    predict_sigma: float = 0.0
    load_sigma: float = 0.0
    wake_sigma: float = 0.0

    def __post_init__(self) -> None:
        check(BadScenario, dict.fromkeys(self.__dict__, SIGMA), self.__dict__)


TRACE: Kind = (
    ValueRule(
        "is a file's name, a synthetic trace's line as zipf:models=500, or one of torpor.workloads, which has"
        " recorded([(time_s, model), ...]) for rows in memory",
        lambda value: isinstance(value, Path | str) or hasattr(value, "chunks"),
    ),
)
ARGUMENTS: Mapping[str, Kind] = {
    "seed": whole(0),
    "spreads": optional(a(Spreads, "is a Spreads, as of torpor.simulator.simulation_run")),
}


@dataclass(frozen=True)
class TraceSource:
    """Where inputs came from, so that they can be read again: the arguments of `load`. `trace` is empty for a trace in
    memory, as is `profiles` for those in memory and for none."""

    trace: str = ""
    profiles: str = ""
    seed: int = 0
    lasts_s: float | None = None
    spreads: Mapping[str, float] | None = None


@dataclass(frozen=True, eq=False)
class SimulationInputs:
    """What a scenario is simulated with: the traffic, the profiles of its models, and the seed of everything drawn."""

    trace: Trace
    profiles: Profiles = field(repr=False)
    spreads: Spreads
    seed: int
    what: str  # the trace's name, for tables and plots
    assumed: tuple[str, ...] = ()  # what was not known, and what is used instead
    redrawn: bool = False  # whether the profiles were drawn too
    profiled: str = ""  # the file of the profiles
    source: TraceSource = TraceSource()
    scenario: Scenario = field(default_factory=Scenario)  # with the figures that were measured with the traffic
    on_progress: Callable[[int], None] | None = field(default=None, repr=False)  # called with numbers of ended requests
    response_bytes: float = 0.0  # of an answer, on average, as a ledger has it
    stand_ins: StandIns | None = field(default=None, repr=False)  # for models that the ledger of the profiles lacks
    by_trees: Mapping[str, "SimulationInputs"] = field(default_factory=dict, repr=False)  # by value of TORPOR_TREES
    steps: tuple[TakenStep, ...] = field(default=(), repr=False)  # by which versions took over, of a ledger

    def fitting(self, scenario: Scenario) -> "SimulationInputs":
        """These inputs, with the times and sizes that models have under the scenario's TORPOR_TREES, if those were
        measured apart."""
        other = self.by_trees.get(scenario.trees)
        if other is None:
            return self
        measured = {name: getattr(other, name) for name in ("profiles", "stand_ins", "spreads", "profiled", "source")}
        return replace(self, **measured, by_trees={})

    def profile(self, name: str) -> ModelProfile:
        """The model's profile; that of a model which a ledger lacks is made by the laws of the others. Raises
        BadTrace."""
        if name in self.profiles:
            return self.profiles[name]
        if self.stand_ins is None:
            raise missing_profile(name, self.profiled)
        return self.stand_ins[name]

    @property
    def notes(self) -> tuple[str, ...]:
        """`assumed`, with the models that were called and that the ledger lacks."""
        return (*self.assumed, *(() if self.stand_ins is None else self.stand_ins.note()))

    def spread(self) -> Spread:
        """A new source of the factors of single times, which begins with the first one."""
        return Spread(**self.spreads.__dict__, seed=self.seed)

    def container_spreads(self, scenario: Scenario) -> list[Spread]:
        """New sources of the factors of single times in each container of a scenario's pipeline."""
        sigmas = enumerate((one.predict_sigma for one in scenario.containers), 1)
        return [Spread(sigma, seed=self.seed, container=number) for number, sigma in sigmas]

    @property
    def drawn(self) -> bool:
        """Whether another seed gives another result."""
        if any(one.predict_sigma for one in self.scenario.containers):
            return True
        return self.redrawn or self.spreads != Spreads() or drawn_anew(self.trace, 1) is not self.trace

    def reseeded(self, seed: int) -> "SimulationInputs":
        """The same inputs with another seed: traffic, profiles and single times are drawn again, as far as they are
        drawn."""
        profiles = drawn(list(self.trace.names), seed) if self.redrawn else self.profiles
        return replace(self, trace=drawn_anew(self.trace, seed - self.seed), profiles=profiles, seed=seed)


def load(
    trace: Trace | Path | str,
    profiles: Profiles | Path | str | None = None,
    *,
    seed: int = 0,
    spreads: Spreads | None = None,
    lasts_s: float | None = None,
) -> SimulationInputs:
    """Read traces and profiles from files, fit the profiles of a ledger, and draw what is missing. The arguments are
    those of `torpor.simulate`. Raises BadTrace, BadScenario."""
    check(BadScenario, ARGUMENTS, {"seed": seed, "spreads": spreads})
    inputs = _loaded(trace, profiles, seed, spreads)
    inputs = replace(inputs, steps=recorded_steps(inputs.trace))
    in_files = isinstance(trace, Path | str) and (profiles is None or isinstance(profiles, Path | str))
    if in_files:
        given = None if spreads is None else dict(spreads.__dict__)
        source = TraceSource(f"{trace}", "" if profiles is None else f"{profiles}", seed, lasts_s, given)
        inputs = replace(inputs, source=source)
    return inputs if lasts_s is None else replace(inputs, trace=TimedTrace(inputs.trace, lasts_s, inputs.what))


def _loaded(
    trace: Trace | Path | str, profiles: Profiles | Path | str | None, seed: int, spreads: Spreads | None
) -> SimulationInputs:
    check(BadTrace, {"trace": TRACE}, {"trace": trace})
    what = f"{trace}" if isinstance(trace, Path | str) else getattr(trace, "what", type(trace).__name__.lower())
    opened = drawn_anew(named(trace), seed) if isinstance(trace, Path | str) else trace
    if profiles is not None:
        profiled = f"{profiles}" if isinstance(profiles, Path | str) else ""
        known, measured = (
            fitting.read_source(profiles) if isinstance(profiles, Path | str) else (fitting.checked(profiles), None)
        )
        _check_sizes(known)
        around = Scenario() if measured is None else as_it_ran(measured)
        spread = Spreads() if measured is None else _spreads(measured)
        notes = (
            *(() if measured is None else (*setup_note(measured), *_unread(measured))),
            *_left_out(opened),
            *_unmarked(opened),
        )
        stand_ins = None if measured is None else StandIns.of(measured)
        return SimulationInputs(
            opened, known, spreads or spread, seed, what, notes,
            profiled=profiled, scenario=around, stand_ins=stand_ins,
            response_bytes=0.0 if measured is None else measured.response_bytes,
        )  # fmt: skip
    if isinstance(opened, LedgerFile):
        return _fitted(opened, spreads, seed, what)
    assumed = "the sizes and times of all models: drawn from the distributions of torpor.workloads.TABULAR"
    return SimulationInputs(
        opened, drawn(names_of(opened), seed), spreads or Spreads(), seed, what, (assumed,), redrawn=True
    )


def _fitted(ledger: LedgerFile, spreads: Spreads | None, seed: int, what: str) -> SimulationInputs:
    """The requests of a ledger, with profiles fitted to it."""
    found = fitting.fitted(ledger.path, ledger.endpoint, ledger.variant)
    measured, around = spreads or _spreads(found), as_it_ran(found)
    assumed = (f"the times of {len(found.assumed):,} models: fitted to other models",) if found.assumed else ()
    notes = (*setup_note(found), *assumed, *_unread(found), *_left_out(ledger), *_unmarked(ledger))
    return SimulationInputs(
        ledger, found.profiles, measured, seed, what, notes,
        scenario=around, stand_ins=StandIns.of(found), response_bytes=found.response_bytes,
    )  # fmt: skip


def _check_sizes(profiles: Profiles) -> None:
    """Raises BadTrace for a model that is larger than the memory of the largest instance type."""
    for name, one in profiles.items():
        if one.memory_bytes > LARGEST.memory_mib * MIB:
            has = f"{LARGEST.name}, the largest type there is, has {LARGEST.memory_mib // 1024:,} GiB"
            raise BadTrace(
                f"model {name!r} needs {one.memory_bytes:,} bytes of memory, and no instance holds it: {has}"
            )


def _unread(found: fitting.Fitted) -> tuple[str, ...]:
    """Notes on what the ledger does not say of containers and of models."""
    notes = []
    if found.unread:
        notes.append(f"the memory of {', '.join(found.unread)}: none, since the ledger has no reading of it")
    if found.unworked:
        notes.append(
            f"what answers the requests of {counted(len(found.unworked), 'model')}: the instance's threads, since the "
            "ledger does not say whether they are scripts (it is of an earlier version), or their container is foreign"
        )
    return tuple(notes)


def left_out(scenario: Scenario, profiles: Profiles) -> tuple[str, ...]:
    """Notes on what a scenario asks for and no profile knows: batches, a device."""
    return (*_unshared(scenario, profiles), *_without_device(scenario, profiles))


def _unshared(scenario: Scenario, profiles: Profiles) -> tuple[str, ...]:
    """A note on batches of which no profile says what they take."""
    if (scenario.batch_size or 1) == 1 or any(one.further_s is not None for one in profiles.values()):
        return ()
    return (
        "what each further request of a prediction takes: as much as the first, since no profile has it (further_s), "
        f"so TORPOR_BATCH_SIZE={scenario.batch_size} saves nothing here",
    )


def _without_device(scenario: Scenario, profiles: Profiles) -> tuple[str, ...]:
    """A note on a device that no model would use, and on one that is there and is left out."""
    if scenario.device_mib is not None and not any(one.device_bytes for one in profiles.values()):
        return ("what models take on a device: no profile has it (device_bytes), so all predict on the processor",)
    size = None if scenario.serverless is not None else instance_type(scenario.instance_type)
    if scenario.device_mib is None and size is not None and size.gpus:
        return (f"the GPUs of {size.name}: left out, since nothing says how much memory they have (--device-mib)",)
    return ()


def _spreads(found: fitting.Fitted) -> Spreads:
    return Spreads(found.predict_sigma, found.load_sigma)


def _left_out(trace: Trace) -> tuple[str, ...]:
    """A note on a ledger's requests that the simulation leaves out."""
    if not isinstance(trace, LedgerFile) or not trace.refused:
        return ()
    requests, names = counted(sum(trace.refused.values()), "request"), counted(len(trace.refused), "name")
    return (f"{requests} for {names} that only ever got errors: left out, since these names are no models",)


def _unmarked(trace: Trace) -> tuple[str, ...]:
    """A note on a ledger's warm requests of which only the minute is known."""
    if not isinstance(trace, LedgerFile) or not trace.unmarked:
        return ()
    requests = counted(trace.unmarked, "warm request")
    return (
        f"the seconds of {requests}: drawn in their minutes, since an earlier version wrote them; quiet times shorter"
        " than a minute are lost between them",
    )


def drawn_anew(trace: Trace, by: int) -> Trace:
    """The trace with a seed that is higher by `by`. A recorded trace stays as it is, except where its moments are
    drawn: a ledger has only the minutes of warm requests."""
    if isinstance(trace, Synthetic | LedgerFile | Azure2019) and by:
        return replace(trace, seed=trace.seed + by)
    if isinstance(trace, First | TimedTrace | Paced):
        inner = drawn_anew(trace.trace, by)
        return trace if inner is trace.trace else replace(trace, trace=inner)
    return trace


def names_of(trace: Trace) -> list[str]:
    """The models of a trace. A trace that is not synthetic is read once to find them."""
    if not isinstance(trace, Synthetic):
        for _ in trace.chunks():
            pass
    return list(trace.names)


def requests_of(trace: Trace) -> int:
    """The number of requests of a trace, which is read once to count them."""
    return sum(map(len, trace.chunks()))


def missing_profile(name: str, profiled: str) -> BadTrace:
    """The error for a model without a profile. `profiled` is the file of the other profiles, or empty."""
    if not profiled:
        advice = ""
    elif file_kinds.kind(fitting.split_name(profiled)[0]) == file_kinds.SQLITE:
        advice = f": {profiled} is of a single-model variant, which has no other model's times"
    else:
        advice = f": add a row with its model and memory_bytes to {profiled}"
    return BadTrace(f"model {name!r} is called, and has no profile{advice}")
