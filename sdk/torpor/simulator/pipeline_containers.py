"""The containers of a scenario's pipeline: the rules for them, and what a request and an instance's memory lose to
them."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import exp

from torpor.value_rules import AMOUNT, BYTES, COUNT, NUMBER, SWITCH, Kind, ValueRule, optional, whole, wrong
from torpor.workloads.profile import ContainerProfile

SIGMA_MAX = 5.0
"""With this sigma, most single times are a hundredth or a hundred times the profile's."""
SIGMA = (NUMBER, ValueRule(f"is from 0 to {SIGMA_MAX:g}", lambda value: 0 <= value <= SIGMA_MAX))
QUICKEST = 6.0
"""Predictions are at most this many standard deviations faster: one in 1e9 would be faster still."""

CONTAINERS: Kind = (
    ValueRule(
        "is a tuple of ContainerProfile, as of torpor.workloads.profile",
        lambda value: isinstance(value, tuple) and all(isinstance(one, ContainerProfile) for one in value),
    ),
)
KINDS: Mapping[str, Kind] = {
    "name": (ValueRule("is a text", lambda value: isinstance(value, str) and bool(value)),),
    "memory_bytes": BYTES,
    **dict.fromkeys(("predict_s", "predict_delay_s", "start_s"), AMOUNT),
    "predict_sigma": SIGMA,
    "threads": optional(COUNT),
    "models": SWITCH,
    "workers": whole(0),
}
INSTEAD: Mapping[str, str] = {
    "memory_bytes": "own_bytes",
    "start_s": "wake_s",
    "threads": "threads",
    **dict.fromkeys(
        ("predict_s", "predict_delay_s", "predict_sigma", "workers"), "the models' profiles and their spread"
    ),
}
"""What has these figures of the container with the models."""


def wrong_containers(containers: Sequence[ContainerProfile]) -> str:
    """What is wrong with the containers of a pipeline, in words; empty if nothing is, or if there are none."""
    for one in containers:
        values = {each.name: getattr(one, each.name) for each in fields(one)}
        if found := next(filter(None, (wrong(name, values[name], kind) for name, kind in KINDS.items())), ""):
            return f"containers: {one.name!r}: {found}"
        if one.models and (given := [name for name in INSTEAD if values[name]]):
            return f"containers: {one.name!r} has the models: give {INSTEAD[given[0]]} instead of its {given[0]}"
    names = [one.name for one in containers]
    if twice := [name for name in names if names.count(name) > 1]:
        return f"containers: two have the name {twice[0]!r}"
    with_models = sum(one.models for one in containers)
    if containers and with_models != 1:
        return f"containers: exactly one of them has the models (models), not {with_models}"
    return "a pipeline has two containers or more, not 1" if len(containers) == 1 else ""


def others_bytes(containers: Sequence[ContainerProfile]) -> int:
    """The memory of the containers without the models."""
    return int(sum(one.memory_bytes for one in containers))


def passing_s(containers: Sequence[ContainerProfile], quickest: bool = False) -> float:
    """The seconds that a request takes in the containers without the models, without a queue: on average, or at
    least."""
    return sum(
        one.predict_delay_s + one.predict_s * (exp(-QUICKEST * one.predict_sigma) if quickest else 1.0)
        for one in containers
    )


def starts_s(containers: Sequence[ContainerProfile], wake_s: float) -> float:
    """The seconds until an instance is ready: those of its slowest container. They start side by side."""
    return max([wake_s, *(one.start_s for one in containers)])
