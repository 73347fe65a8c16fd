"""Which instances are given back, and which copies move for it, by a variant's ScaleInPolicy. It moves nothing.

"IDLE_RELEASE: Releases instances that have no hosted inference component copies. CONSOLIDATION: Consolidates inference
component copies onto fewer instances to release more instances."
"""

from collections.abc import Sequence
from typing import Final

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.packing.copy_placement import place_all
from torpor_endpoint.core.packing.packed_instances import CopyId, PackedInstance
from torpor_endpoint.core.resource_records import ScaleIn, ScaleInStrategy

IDLE_S: Final = 600.0
"""How long an instance without copies stays. AWS's blog on scaling to zero says about ten minutes."""

NO_POLICY: Final = ScaleIn(ScaleInStrategy.IDLE_RELEASE)
"""What holds for a variant whose number of instances follows the copies, and that has no ScaleInPolicy."""


@frozen
class CopyMove:
    """A copy of the component starts on `to`; once it serves, the one of this number on `source` ends."""

    copy: CopyId
    source: int
    to: int


@frozen
class ScaleInPlan:
    """`released` have no copies and end now; those that copies leave are released once they are empty."""

    released: tuple[int, ...] = ()
    moves: tuple[CopyMove, ...] = ()


def scale_in(
    instances: Sequence[PackedInstance],
    policy: ScaleIn | None,
    least: int,
    now_s: float,
    last_operation_s: float,
    *,
    idle_s: float = IDLE_S,
) -> ScaleInPlan:
    """What to give back now. `least` is MinInstanceCount; `last_operation_s` is when the endpoint last changed.

    AWS has MaximumStepSize and CooldownInMinutes for consolidation alone. An instance without copies that has been so
    for `idle_s` leaves under either strategy, the highest number first.
    """
    policy = policy or NO_POLICY
    released = _idle(instances, len(instances) - least, now_s, idle_s)
    if policy.strategy is ScaleInStrategy.IDLE_RELEASE or now_s - last_operation_s < policy.cooldown_s:
        return ScaleInPlan(released)
    left = [one for one in instances if one.number not in released]
    empty = sum(not one.copies for one in left)  # they leave before long
    step = min(policy.step_max, len(left) - empty - least)
    return ScaleInPlan(released, tuple(_consolidated(left, step)))


def shrink(instances: Sequence[PackedInstance], surplus: int) -> ScaleInPlan:
    """How so many instances leave that are too many: those without copies at once, and then those whose copies have
    room on the others, which move. An instance whose copies fit nowhere else stays."""
    empty = sorted((one.number for one in instances if not one.copies), reverse=True)
    released = tuple(empty[: max(0, surplus)])
    left = [one for one in instances if one.number not in released]
    return ScaleInPlan(released, tuple(_consolidated(left, surplus - len(released))))


def quiet_until_s(
    instances: Sequence[PackedInstance],
    policy: ScaleIn | None,
    least: int,
    last_operation_s: float,
    *,
    idle_s: float = IDLE_S,
) -> float:
    """The time before which nothing is given back, if no copy comes or goes; infinity if nothing ever is."""
    policy = policy or NO_POLICY
    if len(instances) <= least:
        return float("inf")
    times = [one.empty_since_s + idle_s for one in instances if one.empty_since_s is not None]
    if policy.strategy is ScaleInStrategy.CONSOLIDATION:
        times.append(last_operation_s + policy.cooldown_s)
    return min(times, default=float("inf"))


def _idle(instances: Sequence[PackedInstance], surplus: int, now_s: float, idle_s: float) -> tuple[int, ...]:
    idle = [one.number for one in instances if one.empty_since_s is not None and now_s - one.empty_since_s >= idle_s]
    return tuple(sorted(idle, reverse=True)[: max(0, surplus)])


def _consolidated(instances: list[PackedInstance], step: int) -> list[CopyMove]:
    """The moves that empty at most `step` instances, those with least on them first. All copies of an instance move, or
    none, and no copy moves twice. So more instances may stay than the fewest that could hold all copies."""
    moves: list[CopyMove] = []
    remaining = {one.number: one for one in instances}
    emptied = 0
    for source in sorted(instances, key=lambda one: (one.fullness, len(one.copies), -one.number)):
        got_copies = remaining[source.number].copies != source.copies
        if emptied >= step or got_copies or not source.copies:
            continue
        others = [one for one in remaining.values() if one.number != source.number and one.copies]
        places = place_all(source.copies, others, tight=True)
        if places is None:
            continue
        for copy in source.copies:
            to = places[copy.name]
            moves.append(CopyMove(copy.name, source.number, to))
            remaining[to] = remaining[to].holding(copy)
        del remaining[source.number]
        emptied += 1
    return moves
