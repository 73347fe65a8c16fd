"""A batch of the ledger's rows, which is written in one transaction, and how a later one is added to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from torpor_endpoint.core.ledger import (
    ContainerKey,
    ContainerSums,
    FaceKey,
    FaceSums,
    MemoryKey,
    MemorySums,
    Span,
    SpanKey,
    Sums,
    UseKey,
    add_sums,
)
from torpor_endpoint.core.ledger_records import InstanceLife, InvocationRecord
from torpor_endpoint.core.model_choice.made_choices import ChoiceKey, MadeChoices
from torpor_endpoint.core.versions.version_steps import VersionStep
from torpor_endpoint.ledger.choice_table import merge_choices


@dataclass
class Batch:
    """Rows to write in one transaction. `number` rises from batch to batch; 0 is that of a batch without one."""

    number: int = 0
    cold_starts: list[InvocationRecord] = field(default_factory=list)
    minutes: dict[UseKey, Sums] = field(default_factory=dict)
    containers: dict[ContainerKey, ContainerSums] = field(default_factory=dict)  # of pipelines
    spans: dict[SpanKey, Span] = field(default_factory=dict)  # of warm requests
    faces: dict[FaceKey, FaceSums] = field(default_factory=dict)  # of other protocols than SageMaker's
    memory: dict[MemoryKey, MemorySums] = field(default_factory=dict)
    lives: dict[str, InstanceLife] = field(default_factory=dict)
    served: dict[tuple[str, str], float] = field(default_factory=dict)  # when a variant last existed
    routers: dict[str, int] = field(default_factory=dict)  # the number of the last batch of each router
    setups: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)  # since when, and how, as JSON
    choices: dict[ChoiceKey, MadeChoices] = field(default_factory=dict)  # of models of groups
    steps: list[tuple[float, VersionStep]] = field(default_factory=list)  # of versions, each with its epoch seconds

    @property
    def rows(self) -> int:
        kinds = self.cold_starts, self.minutes, self.containers, self.spans, self.memory, self.lives, self.choices
        return sum(map(len, kinds)) + len(self.steps)

    def absorb(self, later: "Batch") -> None:
        """Add the rows of a later batch, and take its number. No try to write this one may have been made."""
        self.number = later.number
        self.cold_starts += later.cold_starts
        self.steps += later.steps
        _add_all(self.minutes, later.minutes)
        _add_all(self.containers, later.containers)
        _add_all(self.memory, later.memory)
        _add_all(self.faces, later.faces)
        for called, span in later.spans.items():
            self.spans[called] = self.spans[called] | span if called in self.spans else span
        self.lives |= later.lives
        self.served |= later.served
        self.setups |= later.setups
        self.routers |= later.routers
        for made in later.choices.values():
            merge_choices(self.choices, made)


K = TypeVar("K")
S = TypeVar("S", Sums, ContainerSums, FaceSums, MemorySums)


def _add_all(into: dict[K, S], others: Mapping[K, S]) -> None:
    for key, sums in others.items():
        if key in into:
            add_sums(into[key], sums)
        else:
            into[key] = sums
