"""`torpor.simulate_choice`: plays calls of a group by the endpoint's own rule, and by those beside it."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from torpor.errors import TorporError
from torpor.simulator.choosing.choice_outcomes import ChoiceComparison, ChoiceOutcome
from torpor.simulator.choosing.choice_rules import ONE_ROW, RULES, RuleName
from torpor.simulator.choosing.grouped_simulation import MARK, GroupChooser
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.planning.late_requests import Hopeless
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, load, names_of
from torpor.simulator.simulation_run import run
from torpor.workloads import BadTrace, First, Trace
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.model_choice.group_file import SUFFIX, BadGroupFile, read_group
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel, ModelTier


def read_group_text(path: Path) -> ChoiceGroup:
    """The group of a file "NAME.group.json". Raises TorporError, OSError."""
    if not path.name.endswith(SUFFIX):
        raise TorporError(f"{path} is no group: the name of its file ends in {SUFFIX}")
    try:
        return read_group(path.name.removesuffix(SUFFIX), path.read_bytes())
    except BadGroupFile as error:
        raise TorporError(f"{path} is no group: {error}") from None


def simulate_choice(
    trace: Trace | Path | str,
    group: ChoiceGroup | Path | str,
    scenario: Scenario | None = None,
    *,
    rules: Iterable[str] = tuple(RuleName),
    seed: int = 0,
    lasts_s: float | None = None,
    **changes: Any,
) -> ChoiceComparison:
    """Simulate calls of a group by the endpoint's own rule, and by those beside it.

    - `trace` is as of `torpor.simulate`. A request names the group and its need:
      `digits?min_accuracy=0.9, latency_ms=20`. Where no model meets the need, the nearest one answers.
    - `group` is a file "NAME.group.json". Each model needs `latency_ms`, `load_ms` from `s3`, and `size_bytes`.
    - `scenario`, its fields and `lasts_s` are as of `torpor.simulate`.

    A request has one row. Raises BadTrace, BadScenario, TorporError.
    """
    found = group if isinstance(group, ChoiceGroup) else read_group_text(Path(group))
    asked = [RuleName(rule) for rule in rules]
    inputs = group_inputs(trace, found, seed, lasts_s)
    chosen = (scenario or inputs.scenario).altered(**changes)
    return ChoiceComparison(found, [play_choice(found, rule, inputs, chosen) for rule in asked])


def group_inputs(
    trace: Trace | Path | str, group: ChoiceGroup, seed: int, lasts_s: float | None, played_max: int | None = None
) -> SimulationInputs:
    """The requests of a trace, at most its first `played_max`, with the sizes and times of a group's models. Raises
    BadTrace, also where no request names the group; TorporError."""
    inputs = load(trace, {one.model: group_profile(one) for one in group.models}, seed=seed, lasts_s=lasts_s)
    if not any(name.partition(MARK)[0] == group.name for name in names_of(inputs.trace)):
        raise BadTrace(
            f"no request of the trace names group {group.name!r}: a request names the group and its need, as"
            f" {group.name}{MARK}latency_ms=20"
        )
    return inputs if played_max is None else replace(inputs, trace=First(inputs.trace, played_max))


def play_choice(
    group: ChoiceGroup, rule: RuleName, inputs: SimulationInputs, scenario: Scenario, missed_max: float = inf
) -> ChoiceOutcome:
    """Play the requests by a rule. With more than `missed_max` missed needs the simulation stops, and the outcome has
    no result. Raises BadTrace."""
    machine, outcome = scenario.plan.machine, ChoiceOutcome(rule)
    chooser = GroupChooser(group, RULES[rule], machine.processors or machine.threads)
    models = {one.model: one for one in group.models}

    def listen(calls: list[SimulatedCall]) -> None:
        for call in calls:
            if (asked := chooser.ended(call)) is not None:
                outcome.count(models[call.model], asked, call)
        if outcome.missed > missed_max:
            raise Hopeless

    with suppress(Hopeless):
        outcome.result = run(inputs, scenario, listener=listen, choose=chooser.chosen)
    return outcome


def group_profile(model: GroupedModel) -> ModelProfile:
    """The sizes and times of a model as the simulator takes them. Raises TorporError for one that lacks any."""
    predict_ms, s3_ms = model.predict_ms(ONE_ROW), model.load_ms.get(ModelTier.S3)
    known = {"latency_ms": predict_ms, "load_ms.s3": s3_ms, "size_bytes": model.size_bytes}
    if predict_ms is None or s3_ms is None or model.size_bytes is None:
        lacking = next(name for name, value in known.items() if value is None)
        raise TorporError(f"model {model.model} of the group has no {lacking}: `torpor profile` measures it")
    disk_ms = model.loaded_within_ms(ModelTier.DISK) or 0.0
    return ModelProfile(
        model.model,
        model.size_bytes,
        model.size_bytes,
        download_s=max(0.0, s3_ms - disk_ms) / 1000,
        unpack_s=0.0,
        load_s=disk_ms / 1000,
        predict_s=predict_ms / 1000,
    )
