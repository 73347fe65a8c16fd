"""Decides on the proposals of a target's scaling policies: a change, a reason for none, or nothing. Pure."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeGuard

from torpor_container.frozen_class import frozen


class Reason(StrEnum):
    """Why a target was not scaled, by AWS's codes."""

    AT_MAX = "AlreadyAtMaxCapacity"
    AT_MIN = "AlreadyAtMinCapacity"
    AT_DESIRED = "AlreadyAtDesiredCapacity"
    FLAPPING = "AutoScalingAnticipatedFlapping"


@frozen
class ScalableCapacity:
    """A target's capacity and its bounds, and whether policies may scale it in and out at all."""

    current: int
    least: int
    most: int
    may_in: bool = True
    may_out: bool = True

    def bounded(self, to: int) -> int:
        return max(self.least, min(to, self.most))


@frozen
class Proposal:
    """The capacity that one policy proposes, apart from bounds.

    A proposal that `yields` scales in only if all target tracking policies agree.
    """

    out: bool
    to: int
    cause: str
    cooldown_s: float
    yields: bool = False


@frozen
class Cooldown:
    """The cooldown after a policy's last activity. `base` is the capacity at the beginning of a scale-out."""

    out: bool
    base: int
    until_s: float


@frozen
class Change:
    """A change to make. Without `cooldown_s` no policy proposed it, and no policy waits after it."""

    to: int
    cause: str
    out: bool
    base: int
    cooldown_s: float | None = None

    def cooldown(self, ended_s: float) -> Cooldown | None:
        """ "After Application Auto Scaling successfully scales out [..], it starts to calculate the cooldown time." """
        return None if self.cooldown_s is None else Cooldown(self.out, self.base, ended_s + self.cooldown_s)


@frozen
class NoChange:
    """The reason for no change, and the cause of the proposal."""

    reason: Reason
    cause: str


def base(capacity: ScalableCapacity, cooldown: Cooldown | None, now_s: float) -> int:
    """The capacity that a step adds to: "While the scale-out cooldown period is in effect, the capacity added by the
    initiating scale-out activity is calculated as part of the desired capacity for the next scale-out activity." """
    return min(cooldown.base, capacity.current) if _is_on(cooldown, now_s) and cooldown.out else capacity.current


def decide(
    capacity: ScalableCapacity,
    proposals: Sequence[Proposal],
    cooldown: Cooldown | None,
    now_s: float,
    agreed: bool = True,
) -> Change | NoChange | None:
    """ "It will scale out the scalable target if any of the target tracking policies are ready for scale out, but will
    scale in only if all of the target tracking policies (with the scale-in portion enabled) are ready to scale in",
    which `agreed` says; "based on the policy that provides the largest capacity for both"."""
    if outs := [proposal for proposal in proposals if proposal.out]:
        return _out(capacity, _largest(outs), cooldown, now_s) if capacity.may_out else None
    ins = [proposal for proposal in proposals if agreed or not proposal.yields]
    if not ins or not capacity.may_in or _is_on(cooldown, now_s):
        return None
    return _in(capacity, _largest(ins))


def within(capacity: ScalableCapacity) -> Change | None:
    """The change that moves the capacity into its bounds; None if it is within them."""
    to = capacity.bounded(capacity.current)
    if to == capacity.current:
        return None
    out = to > capacity.current
    bound = "minimum" if out else "maximum"
    return Change(to, f"{bound} capacity was set to {to}", out, capacity.current)


def _largest(proposals: Sequence[Proposal]) -> Proposal:
    return max(proposals, key=lambda proposal: proposal.to)


def _out(
    capacity: ScalableCapacity, proposal: Proposal, cooldown: Cooldown | None, now_s: float
) -> Change | NoChange | None:
    """ "A scaling policy won't increase the desired capacity again unless either a larger scale out is triggered or the
    cooldown period ends." A scale-in's cooldown does not stand in the way of a scale-out."""
    to = capacity.bounded(proposal.to)
    if to > capacity.current:
        return Change(to, proposal.cause, True, base(capacity, cooldown, now_s), proposal.cooldown_s)
    if capacity.current >= capacity.most:
        return NoChange(Reason.AT_MAX, proposal.cause)
    if _is_on(cooldown, now_s) and cooldown.out:
        return None
    return NoChange(Reason.AT_DESIRED, proposal.cause)


def _in(capacity: ScalableCapacity, proposal: Proposal) -> Change | NoChange:
    to = capacity.bounded(proposal.to)
    if to < capacity.current:
        return Change(to, proposal.cause, False, capacity.current, proposal.cooldown_s)
    if capacity.current <= capacity.least:
        return NoChange(Reason.AT_MIN, proposal.cause)
    return NoChange(Reason.FLAPPING if proposal.yields else Reason.AT_DESIRED, proposal.cause)


def _is_on(cooldown: Cooldown | None, now_s: float) -> TypeGuard[Cooldown]:
    return cooldown is not None and now_s < cooldown.until_s
