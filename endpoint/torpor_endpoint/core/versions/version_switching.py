"""Decides when a version takes over from another one, from what is there and what instances have in memory.

It is level-triggered: it takes everything that is known now and says what answers from now on and what is to be loaded.
Whoever carries that out asks again once something has changed. For each name, the default and every label is a pointer,
which moves by these rules:

    the version that it has is withdrawn           it moves at once
    the version that it wants is in memory         it moves
    the version that it wants cannot be loaded     it stays
    the version that it has is in no memory        it moves: the next call loads a version in either case
    otherwise                                      it stays, and the version that it wants is loaded beside
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field

from torpor_container.core.versions.version_policies import VersionPolicy
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.versions.version_answers import DEFAULT, AnsweringVersions
from torpor_endpoint.core.versions.version_layout import VERSIONED


@frozen
class VersionsInMemory:
    """Which versions of one name are in the memory of an instance, and which could not be loaded lately."""

    resident: Collection[int] = ()
    failed: Collection[int] = ()
    gone: Collection[str] = ()
    """The keys in memory whose versions are withdrawn: they have to leave it."""


@frozen
class VersionPlan:
    """What answers from now on, and which versions are to be loaded beside."""

    serve: AnsweringVersions
    load: tuple[int, ...] = ()
    waits: Mapping[str, int] = field(default_factory=dict)
    """By pointer: the version that it wants and does not have."""


def versions_in(
    name: str, keys: Iterable[str], present: Mapping[int, str], failed: Collection[str] = ()
) -> VersionsInMemory:
    """What `keys` in memory, and those that could not be loaded, are of the versions that lie below the prefix."""
    numbers = {key: number for number, key in present.items()}
    resident, gone = set(), []
    for key in keys:
        found = VERSIONED.fullmatch(key)
        if key in numbers:
            resident.add(numbers[key])
        elif found is not None and found[1] == name:
            gone.append(key)
    return VersionsInMemory(resident, {numbers[key] for key in failed if key in numbers}, sorted(gone))


def wanted_versions(
    present: Mapping[int, str], policy: VersionPolicy, labels: Mapping[str, int], fault: str = ""
) -> AnsweringVersions:
    """What should answer: the versions that the policy chooses and those that have a label. The label `default`, if it
    points to a version that is there, names what answers calls without one; else the newest that the policy chooses
    does. A label that points to a version that is gone answers nothing."""
    there = {label: number for label, number in labels.items() if number in present}
    chosen = policy.of(present)
    default = there.get(DEFAULT, max(chosen, default=None))
    numbers = sorted(chosen.union(there.values()))
    named = {label: number for label, number in there.items() if label != DEFAULT}
    return AnsweringVersions({number: present[number] for number in numbers}, default, named, fault)


def plan_versions(
    served: AnsweringVersions, wanted: AnsweringVersions, present: Mapping[int, str], memory: VersionsInMemory
) -> VersionPlan:
    """What follows from what answers now, what should answer, what lies below the prefix, and what is in memory."""
    kept = {number for number, key in served.artifacts.items() if present.get(number) == key}
    pointers: dict[str, int] = {}
    load: list[int] = []
    waits: dict[str, int] = {}
    had = served.pointers
    for label, want in wanted.pointers.items():
        have = had.get(label)
        if have is None or have == want or have not in kept or _takes_over(have, want, memory):
            pointers[label] = want
        else:
            pointers[label] = have
            waits[label] = want
            if want not in memory.failed and want not in load:
                load.append(want)
    numbers = sorted({*wanted.artifacts, *pointers.values()})
    artifacts = {number: present[number] for number in numbers}
    default = pointers.pop(DEFAULT, None)
    serve = AnsweringVersions(artifacts, default, pointers, wanted.fault)
    return VersionPlan(serve, tuple(load), waits)


def _takes_over(have: int, want: int, memory: VersionsInMemory) -> bool:
    if want in memory.resident:
        return True
    return want not in memory.failed and have not in memory.resident
