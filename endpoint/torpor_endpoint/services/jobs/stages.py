"""The record of a job, and the table of its stages. Pure: callers give the time."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

from torpor_container.frozen_class import frozen

REASON_MAX = 1024
"""The most characters of a FailureReason, by the service model."""

S = TypeVar("S", bound=StrEnum)
J = TypeVar("J", bound="JobRecord[Any]")


@frozen
class JobKind(Generic[S]):
    """The stages of one kind of job. `statuses` are AWS's, of each stage; `moves` says where a job may go from each.

    A job may be stopped in each stage that leads to `stopping`, and waits for its turn in the first one.
    """

    noun: str
    first: S
    stopping: S
    stopped: S
    failed: S
    statuses: Mapping[S, str]
    moves: Mapping[S, frozenset[S]]


@frozen
class Transition(Generic[S]):
    """One stage of a job, with its times in epoch seconds. `ended_s` is None for the present stage."""

    stage: S
    started_s: float
    ended_s: float | None = None


@frozen
class JobRecord(Generic[S]):
    """One job. `request` is that of the operation that created it, without tags. The last transition is the present
    stage."""

    KIND: ClassVar[JobKind[Any]]

    name: str
    arn: str
    created_s: float
    request: Mapping[str, Any]
    transitions: tuple[Transition[S], ...] = field(default=())
    failure_reason: str | None = None

    @property
    def stage(self) -> S:
        return self.transitions[-1].stage

    @property
    def status(self) -> str:
        return self.KIND.statuses[self.stage]

    @property
    def modified_s(self) -> float:
        return self.transitions[-1].started_s

    @property
    def is_over(self) -> bool:
        return not self.KIND.moves[self.stage]

    @property
    def ended_s(self) -> float | None:
        return self.modified_s if self.is_over else None


def begun(kind: type[J], name: str, arn: str, request: Mapping[str, Any], now_s: float) -> J:
    """A new job."""
    return kind(name, arn, now_s, request, (Transition(kind.KIND.first, now_s),))


def moved(job: J, stage: StrEnum, now_s: float, reason: str | None = None) -> J:
    """The job in another stage. Raises ValueError for a move that is not in the table."""
    moves = job.KIND.moves
    if stage not in moves[job.stage]:
        raise ValueError(f"a {job.KIND.noun} does not go from {job.stage} to {stage}")
    *past, last = job.transitions
    now = Transition(stage, now_s, None if moves[stage] else now_s)
    transitions = (*past, replace(last, ended_s=now_s), now)
    return replace(job, transitions=transitions, failure_reason=reason and reason[:REASON_MAX])
