"""What each setting does near a choice: which other values make no difference there, and which are worse."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torpor.simulator.tuning.tune_space import Chosen, Knob
from torpor.simulator.tuning.tuned_trials import TrialJudge, TunedTrial


@dataclass(frozen=True)
class SettingEffect:
    """One setting, changed alone from the choice `best`. `without_effect` are values that give the same variant, or the
    same price and the same share of late requests; `worse` cost more, miss the goal, or cannot be deployed; the others
    were not tried beside these values of the other settings."""

    name: str
    best: Any
    without_effect: tuple[Any, ...]
    worse: tuple[Any, ...]
    untried: tuple[Any, ...]


def effects(best: Chosen, knobs: Sequence[Knob], judge: TrialJudge) -> tuple[SettingEffect, ...]:
    """The effect of each setting that has several values, without a further simulation."""
    here = judge.known(best)
    assert here is not None
    return tuple(_effect(knob, best, here, judge) for knob in knobs if len(knob.values) > 1)


# -- inside ------------------------------------------------------------------------------------------------------------
def _effect(knob: Knob, best: Chosen, here: TunedTrial, judge: TrialJudge) -> SettingEffect:
    same, worse, untried = list[Any](), list[Any](), list[Any]()
    for value in knob.values:
        if value == best[knob.name]:
            continue
        found = judge.known({**best, knob.name: value})
        if found is None or (found.too_dear and found.usd <= here.usd):
            untried.append(value)
        elif found.scenario == here.scenario or (found.meets and found.rank == here.rank):
            same.append(value)
        else:
            worse.append(value)
    return SettingEffect(knob.name, best[knob.name], tuple(same), tuple(worse), tuple(untried))
