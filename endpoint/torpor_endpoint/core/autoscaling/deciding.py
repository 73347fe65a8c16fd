"""What becomes of the wishes of a target's scaling policies: a change, a reason why not, or nothing. Pure; no clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeGuard


class Reason(StrEnum):
    """Why a target was not scaled, by AWS's codes."""

    AT_MAX = "AlreadyAtMaxCapacity"
    AT_MIN = "AlreadyAtMinCapacity"
    AT_DESIRED = "AlreadyAtDesiredCapacity"
    FLAPPING = "AutoScalingAnticipatedFlapping"


@dataclass(frozen=True)
class Reach:
    """Where a target is and how far it may go; whether policies may scale it in and out at all."""

    capacity: int
    least: int
    most: int
    may_in: bool = True
    may_out: bool = True

    def bounded(self, to: int) -> int:
        return max(self.least, min(to, self.most))


@dataclass(frozen=True)
class Wish:
    """Where one policy would go, whatever the bounds. One that `yields` scales in only if all that track agree."""

    out: bool
    to: int
    cause: str
    cooldown_s: float
    yields: bool = False


@dataclass(frozen=True)
class Cooldown:
    """What the last activity of a policy leaves behind; `base` is the capacity that a scale-out began with."""

    out: bool
    base: int
    until_s: float


@dataclass(frozen=True)
class Change:
    """To be made. Without `cooldown_s` no policy asked for it, and none has to wait after it."""

    to: int
    cause: str
    out: bool
    base: int
    cooldown_s: float | None = None

    def cooldown(self, ended_s: float) -> Cooldown | None:
        """ "After Application Auto Scaling successfully scales out [..], it starts to calculate the cooldown time." """
        return None if self.cooldown_s is None else Cooldown(self.out, self.base, ended_s + self.cooldown_s)


@dataclass(frozen=True)
class NoChange:
    """Not to be made."""

    reason: Reason
    cause: str


def base(reach: Reach, cooldown: Cooldown | None, now_s: float) -> int:
    """What a step counts from: "While the scale-out cooldown period is in effect, the capacity added by the
    initiating scale-out activity is calculated as part of the desired capacity for the next scale-out activity." """
    return min(cooldown.base, reach.capacity) if _is_on(cooldown, now_s) and cooldown.out else reach.capacity


def decide(
    reach: Reach, wishes: Sequence[Wish], cooldown: Cooldown | None, now_s: float, agreed: bool = True
) -> Change | NoChange | None:
    """ "It will scale out the scalable target if any of the target tracking policies are ready for scale out, but will
    scale in only if all of the target tracking policies (with the scale-in portion enabled) are ready to scale in",
    which `agreed` says; "based on the policy that provides the largest capacity for both"."""
    if outs := [wish for wish in wishes if wish.out]:
        return _out(reach, _largest(outs), cooldown, now_s) if reach.may_out else None
    ins = [wish for wish in wishes if agreed or not wish.yields]
    if not ins or not reach.may_in or _is_on(cooldown, now_s):
        return None
    return _in(reach, _largest(ins))


def within(reach: Reach) -> Change | None:
    """The change that moves a capacity into bounds that were set otherwise."""
    to = reach.bounded(reach.capacity)
    if to == reach.capacity:
        return None
    bound = "minimum" if to > reach.capacity else "maximum"
    return Change(to, f"{bound} capacity was set to {to}", to > reach.capacity, reach.capacity)


def _largest(wishes: Sequence[Wish]) -> Wish:
    return max(wishes, key=lambda wish: wish.to)


def _out(reach: Reach, wish: Wish, cooldown: Cooldown | None, now_s: float) -> Change | NoChange | None:
    """ "A scaling policy won't increase the desired capacity again unless either a larger scale out is triggered or the
    cooldown period ends." A scale-in's cooldown does not stand in the way of a scale-out."""
    to = reach.bounded(wish.to)
    if to > reach.capacity:
        return Change(to, wish.cause, True, base(reach, cooldown, now_s), wish.cooldown_s)
    if reach.capacity >= reach.most:
        return NoChange(Reason.AT_MAX, wish.cause)
    if _is_on(cooldown, now_s) and cooldown.out:
        return None
    return NoChange(Reason.AT_DESIRED, wish.cause)


def _in(reach: Reach, wish: Wish) -> Change | NoChange:
    to = reach.bounded(wish.to)
    if to < reach.capacity:
        return Change(to, wish.cause, False, reach.capacity, wish.cooldown_s)
    if reach.capacity <= reach.least:
        return NoChange(Reason.AT_MIN, wish.cause)
    return NoChange(Reason.FLAPPING if wish.yields else Reason.AT_DESIRED, wish.cause)


def _is_on(cooldown: Cooldown | None, now_s: float) -> TypeGuard[Cooldown]:
    return cooldown is not None and now_s < cooldown.until_s
