"""Reads an endpoint of inference components from its ledger: requests, reservations, copies over time, and instances.

The ledger has each component as a variant of its own, and the production variant whose instances the copies are on.
It has no scaling policy: the copies that one has asked for are changes in time. Nor has it requests that were refused
for want of a copy (strict): those that it has reached one, or waited for one.
"""

import json
import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from torpor.simulator import fitting
from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import AdapterSetup, ComponentSetup, CopyChange
from torpor.simulator.components.component_traces import MergedTrace, model_name
from torpor.simulator.ledger_scenario import as_it_ran
from torpor.simulator.scenario import MIB, OWN_BYTES, Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, Spreads
from torpor.workloads import BadTrace, LedgerFile
from torpor.workloads.profile import ModelProfile
from torpor.workloads.trace_formats.ledger_trace import check_tables, unreadable
from torpor_container import typed_json
from torpor_container.settings import BY_FIELD
from torpor_endpoint.core.components.component_variants import PREFIX, component_of
from torpor_endpoint.core.pages.plain_figures import counted
from torpor_endpoint.core.pricing.catalogue import CATALOGUE
from torpor_endpoint.core.resource_records import CopyNeeds
from torpor_endpoint.core.variant_setup import VariantSetup

VARIANTS: Final = f"""SELECT DISTINCT endpoint, variant FROM minutes
    WHERE coalesce(?1, endpoint) = endpoint AND substr(variant, 1, {len(PREFIX)}) = '{PREFIX}' ORDER BY 1, 2"""
OTHERS: Final = f"""SELECT DISTINCT endpoint FROM minutes
    WHERE coalesce(?1, endpoint) = endpoint AND substr(variant, 1, {len(PREFIX)}) <> '{PREFIX}'"""
LIVES: Final = """SELECT variant, placed_on, size, why_started, why_stopped, started_s, ready_s, stopped_s,
    reserved_mib, reserved_cores, reserved_accelerators FROM lives WHERE endpoint = ? ORDER BY started_s"""
SETUPS: Final = "SELECT variant, setup FROM setups WHERE endpoint = ?"
DISKS: Final = """SELECT variant, max(json_extract(cold, '$.adapters_bytes')) FROM cold_starts
    WHERE endpoint = ? GROUP BY variant"""
"""By component with adapters, the disk that those of a copy share."""
BY_REQUESTS: Final = frozenset({"somebody calls", "nobody calls", "the next call is expected"})
"""Why a copy starts or leaves that no caller has asked for by its number."""
MOVED: Final = "it moves to another instance"
LASTED: Final = "the endpoint ended"


class RecordedLife(NamedTuple):
    """A life of the ledger, of an instance or of a copy. Times are epoch seconds."""

    variant: str
    placed_on: str
    size: str
    why_started: str
    why_stopped: str
    started_s: float
    ready_s: float | None
    stopped_s: float | None
    reserved_mib: float
    reserved_cores: float
    reserved_accelerators: float


class RecordedEndpoint(NamedTuple):
    """What a ledger has of an endpoint's components, to simulate them again."""

    inputs: SimulationInputs
    scenario: ComponentScenario


def has_components(path: Path, endpoint: str | None) -> str | None:
    """The endpoint of inference components in the ledger; None if there is none, if it is not the only endpoint, or if
    the file is no ledger. Raises BadTrace."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as ledger:
            check_tables(ledger, path)
            found = {name for name, _ in ledger.execute(VARIANTS, (endpoint,))}
            others = {name for (name,) in ledger.execute(OTHERS, (endpoint,))}
    except sqlite3.Error as error:
        raise unreadable(path, error) from error
    return next(iter(found)) if len(found) == 1 and not others - found else None


def recorded_endpoint(
    path: Path, endpoint: str, *, seed: int = 0, so_far: bool = True, spreads: Spreads | None = None
) -> RecordedEndpoint:
    """The requests and components of an endpoint, with profiles fitted to its ledger. `so_far`: up to the last minute
    that is over. Raises BadTrace, BadScenario."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as ledger:
        variants = [variant for _, variant in ledger.execute(VARIANTS, (endpoint,))]
        lives = [RecordedLife(*row) for row in ledger.execute(LIVES, (endpoint,))]
        setups = {
            name: typed_json.read(VariantSetup, json.loads(text)) for name, text in ledger.execute(SETUPS, (endpoint,))
        }
        disks = {_name(variant): size / MIB for variant, size in ledger.execute(DISKS, (endpoint,)) if size}
    make = LedgerFile.so_far if so_far else LedgerFile
    traces = {name: make(path, endpoint, name) for name in variants}
    with_traces = [name for name, trace in traces.items() if _is_answered(trace)]
    fitted = {name: found for name in with_traces if (found := _fitted(path, endpoint, name)) is not None}
    named = {name for name, found in fitted.items() if set(found.profiles) - {name}}
    adapted = {_name(name) for name in named if name in setups and not setups[name].multi_model}
    many = {_name(name) for name in named} - adapted
    if not fitted:
        raise BadTrace(f"{path}: no component of endpoint {endpoint} has answered a request")
    parts: dict[str, list[LedgerFile]] = {}
    for variant in fitted:
        trace = traces[variant]
        parts.setdefault(_name(variant), []).append(replace(trace, seed=trace.seed + seed))
    merged = MergedTrace(parts, many, adapted)
    first_s = min(float(chunk.times_s[0]) for chunk in merged.chunks())
    profiles = {
        one.name: one for variant, found in fitted.items() for one in _profiles(variant, found, _name(variant) in many)
    }
    components = tuple(
        _setup(name, [one for one in lives if _name(one.variant) == name], setups, fitted, first_s) for name in parts
    )
    components = tuple(_multi_model(one, fitted) if one.name in many else one for one in components)
    components = tuple(replace(one, disk_mib=disks.get(one.name, one.disk_mib)) for one in components)
    overheads_s = sorted(one.overhead_s for one in fitted.values())
    scenario = _scenario(components, lives, setups).altered(
        overhead_s=overheads_s[len(overheads_s) // 2], adapters=_adapters(fitted, adapted)
    )
    sigma = max(one.predict_sigma for one in fitted.values())
    lost = tuple(
        f"component {_name(name)}: left out, as it has answered no request yet"
        for name in variants
        if name not in fitted
    )
    inputs = SimulationInputs(
        merged, profiles, spreads or Spreads(sigma), seed, f"{path}#{endpoint}", (*lost, *_notes(components, setups))
    )
    return RecordedEndpoint(inputs, scenario)


def as_models(found: RecordedEndpoint) -> SimulationInputs:
    """The same requests for other ways to serve the models: each takes the memory that its copies reserved, and as long
    to load as a copy took to start."""
    setups = {one.serves: one for one in found.scenario.components if not one.models}
    profiles = {
        name: _as_model(one, setups[name]) if name in setups else one for name, one in found.inputs.profiles.items()
    }
    sizes = "the size of each model: what its copies reserved; its load: the start of a copy"
    notes = (*found.inputs.assumed, *([sizes] if setups else []))
    around = Scenario(found.scenario.types[0], overhead_s=found.scenario.overhead_s)
    return replace(found.inputs, profiles=profiles, assumed=notes, scenario=around)


# -- inside ------------------------------------------------------------------------------------------------------------
def _name(variant: str) -> str:
    return component_of(variant) or ""


def _as_model(profile: ModelProfile, setup: ComponentSetup) -> ModelProfile:
    taken_bytes = max(1, setup.memory_mib * MIB - OWN_BYTES)
    return replace(profile, memory_bytes=taken_bytes, disk_bytes=taken_bytes, load_delay_s=setup.wake_s or 0.0)


def _is_answered(trace: LedgerFile) -> bool:
    """Whether the component has answered a request, up to where the trace ends."""
    try:
        return trace.refused is not None
    except BadTrace:
        return False


def _fitted(path: Path, endpoint: str, variant: str) -> fitting.Fitted | None:
    """The times of a component's copies and models; None if it has answered nothing."""
    try:
        return fitting.fitted(path, endpoint, variant)
    except BadTrace:
        return None


def _profiles(variant: str, found: fitting.Fitted, many: bool) -> list[ModelProfile]:
    """The profiles of a component's models, or of its model and its adapters, by their names in the trace."""
    component = _name(variant)
    if many:
        return [replace(one, name=model_name(component, name)) for name, one in found.profiles.items()]
    adapters = [one for name, one in found.profiles.items() if name != variant]
    if variant in found.profiles:
        return [replace(found.profiles[variant], name=component), *adapters]
    predicts_s = median(one.predict_s for one in adapters)  # nobody has called the base itself
    return [ModelProfile(component, 0, 0, predict_s=predicts_s), *adapters]


def _adapters(fitted: Mapping[str, fitting.Fitted], adapted: Container[str]) -> tuple[AdapterSetup, ...]:
    """The adapters that were called, each of its base: both generations of a base have the same ones."""
    bases = {
        name: _name(variant)
        for variant, found in fitted.items()
        if _name(variant) in adapted
        for name in found.profiles
        if name != variant
    }
    return tuple(AdapterSetup(name, base) for name, base in sorted(bases.items()))


def _multi_model(one: ComponentSetup, fitted: Mapping[str, fitting.Fitted]) -> ComponentSetup:
    """The component with the models that it was called for, and the room that its copies had for them."""
    found = [made for variant, made in fitted.items() if _name(variant) == one.name]
    models = dict.fromkeys(model_name(one.name, name) for made in found for name in made.profiles)
    around = as_it_ran(found[-1])
    room = found[-1].memory
    return replace(
        one,
        models=tuple(models),
        policy=around.policy,
        loads_max=around.loads_max,
        model_idle_s=around.model_idle_s,
        model_keep_alive=around.model_keep_alive,
        room_mib=None if room is None else max(1.0, (room.budget_bytes - room.own_bytes) / MIB),
    )


def _setup(
    name: str,
    lives: Sequence[RecordedLife],
    setups: Mapping[str, VariantSetup],
    fitted: Mapping[str, fitting.Fitted],
    first_s: float,
) -> ComponentSetup:
    """The component as it ran. Its copies are those that its callers asked for, also where an update has changed
    them."""
    one = next((setups[variant] for variant in setups if variant.startswith(PREFIX) and _name(variant) == name), None)
    newest = max(lives, key=lambda life: life.started_s, default=None)
    needs = None if one is None else one.copies
    if needs is None and newest is not None:
        needs = CopyNeeds(name, newest.placed_on, int(newest.reserved_mib), None, newest.reserved_cores)
    if needs is None:
        raise BadTrace(f"component {name}: the ledger has no copy of it")
    begins, changes = _copies(lives, first_s)
    settings = {} if one is None else one.settings
    idle = {
        field: BY_FIELD[field].read(settings[BY_FIELD[field].variable])
        for field in ("idle_s", "keep_alive", "concurrency")
        if settings.get(BY_FIELD[field].variable)
    }
    wake_s = next((found.wake_s for variant, found in fitted.items() if _name(variant) == name), None)
    return ComponentSetup(
        name,
        needs.memory_mib,
        memory_max_mib=needs.memory_max_mib,
        cores=needs.cores,
        accelerators=needs.accelerators,
        binpack=needs.binpack,
        copies=begins,
        wake_s=wake_s,
        slowed=False,
        changes=changes,
        **idle,
    )


def _copies(lives: Sequence[RecordedLife], first_s: float) -> tuple[int, tuple[CopyChange, ...]]:
    """The copies that were asked for before the first request, and each change after it. A copy that a request started
    is none of them, unless something else than its keep-alive ended it: then it was asked for while it was awake. One
    that only moved is none either. Those that ended with a killed endpoint are asked for until it starts again."""
    steps: list[tuple[float, int]] = []
    starts_s = sorted(one.started_s for one in lives)
    for one in lives:
        woken = one.why_started in BY_REQUESTS
        if woken and one.why_stopped in BY_REQUESTS:
            continue
        if one.why_started != MOVED:
            steps.append(((one.ready_s or one.started_s) if woken else one.started_s, 1))
        ends_s = None if one.why_stopped == MOVED else one.stopped_s
        if ends_s is not None and one.why_stopped == LASTED:
            ends_s = next((began_s for began_s in starts_s if began_s > ends_s), None)
        if ends_s is not None:
            steps.append((ends_s, -1))
    totals: dict[float, int] = {}
    ordered = sorted(steps)
    for (at_s, _), total in zip(ordered, accumulate(step for _, step in ordered), strict=True):
        totals[max(0.0, at_s - first_s)] = max(0, total)
    begins = totals.pop(0.0, 0)
    return begins, tuple(CopyChange(at_s, total) for at_s, total in totals.items())


def _scenario(
    components: tuple[ComponentSetup, ...], lives: Sequence[RecordedLife], setups: Mapping[str, VariantSetup]
) -> ComponentScenario:
    """The instances as they were. Without their setup, as many as there ever were at once, of the newest's type."""
    capacity = next((one for one in setups.values() if one.capacity), None)
    instances = [one for one in lives if not one.placed_on and one.size in CATALOGUE]
    size = max(instances, key=lambda one: one.started_s).size if instances else ComponentScenario.instance_type
    if capacity is None:
        return ComponentScenario(components, size, max(1, _most(instances)))
    return ComponentScenario(
        components,
        capacity.instance_type or size,
        max(1, capacity.instances),
        capacity.instances_min,
        None if capacity.instances_min is None else max(1, capacity.instances_max or capacity.instances),
        capacity.scale_in,
        capacity.pools,
    )


def _most(lives: Iterable[RecordedLife]) -> int:
    steps = [(one.started_s, 1) for one in lives]
    steps += [(one.stopped_s, -1) for one in lives if one.stopped_s is not None]
    return max(accumulate(step for _, step in sorted(steps)), default=0)


def _notes(components: Sequence[ComponentSetup], setups: Mapping[str, VariantSetup]) -> Iterator[str]:
    if not any(one.capacity for one in setups.values()):
        yield "the instances: as many as there were at once, since an earlier version wrote the ledger"
    changed = sum(bool(one.changes) for one in components)
    if changed:
        yield f"the copies of {counted(changed, 'component')}: as they were asked for, at the recorded times"
