"""Joins the replays of successive stretches of one trace to one result."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torpor.replay.replay_result import Replayed
from torpor.workloads.trace import ModelNumbers


@dataclass(frozen=True, eq=False)
class ReplayedStretch:
    """A replay of a part of a trace. It was to begin `planned_s` seconds after the first stretch, and began at
    `began_s`."""

    planned_s: float
    began_s: float
    replayed: Replayed


def joined(parts: Sequence[ReplayedStretch]) -> Replayed:
    """All requests of the stretches, with times since the first one began. All replays are of the same models."""
    outcomes, messages = ModelNumbers(), dict[str, str]()
    renumbered: list[NDArray[np.int16]] = []
    for part in parts:
        numbers = np.array([outcomes[name] for name in part.replayed.outcome_names], np.int16)
        renumbered.append(numbers[part.replayed.outcomes])
        messages = {**part.replayed.messages, **messages}
    each = [part.replayed for part in parts]
    return Replayed(
        each[0].names,
        tuple(outcomes.met),
        each[0].began_at_s,
        any(one.interrupted for one in each),
        sum(one.unanswered for one in each),
        np.concatenate([part.replayed.planned_s + part.planned_s for part in parts]),
        np.concatenate([part.replayed.sent_s + part.began_s for part in parts]),
        np.concatenate([part.replayed.done_s + part.began_s for part in parts]),
        np.concatenate([one.models for one in each]),
        np.concatenate(renumbered),
        np.concatenate([one.statuses for one in each]),
        np.concatenate([one.hits for one in each]),
        np.concatenate([one.steps_s for one in each]),
        messages,
    )
