"""Decides how the containers of one instance share its memory, by max-min fairness. It takes values and returns values.

Each container has a budget, and all budgets together never exceed the instance's memory:

- a container that lacks room gets what the others do not use;
- each container is guaranteed an equal share: it gets that back from those that have more, once it needs it;
- a container that does not lack room keeps what it uses, and some head room;
- where no container lacks room, or would gain little, nothing moves.

A fixed container keeps its budget, and the others share the rest. All sizes are in bytes.
"""

from collections.abc import Sequence
from math import inf

from torpor_container.frozen_class import frozen

MIB = 1024 * 1024
HEAD_MIN_BYTES, HEAD_PART = 128 * MIB, 4
"""The head room of a container: one part in HEAD_PART of what it uses, and HEAD_MIN_BYTES at least. A large request may
need it at once."""
NEAR_PART = 4
"""A container that has less than one part in this many of its head room uses nearly its whole budget."""
MOVE_MIN_BYTES = 16 * MIB
"""Budgets move only if a container gains this much."""


@frozen
class ContainerMemory:
    """One container: its budget, and what it uses as measured.

    `lacked_room`: it has evicted or refused a model for lack of room since the last look. `fixed`: its budget does not
    change, because its owner set it, or because the container does not answer.
    """

    budget_bytes: int
    used_bytes: int
    lacked_room: bool = False
    fixed: bool = False

    @property
    def head_bytes(self) -> int:
        return max(HEAD_MIN_BYTES, self.used_bytes // HEAD_PART)

    @property
    def presses(self) -> bool:
        """Whether it needs more than it has: it lacked room, or it uses nearly its whole budget."""
        near = self.budget_bytes - self.used_bytes < self.head_bytes // NEAR_PART
        return not self.fixed and (self.lacked_room or near)

    @property
    def held_bytes(self) -> int:
        """What it may have taken: a container whose budget was lowered may still use more."""
        return max(self.budget_bytes, self.used_bytes)


@frozen
class MemoryPlan:
    """An instance's memory, the budgets with which its containers start, and whether each is its owner's value."""

    memory_bytes: int
    first_bytes: tuple[int, ...]
    own: tuple[bool, ...]

    @classmethod
    def of(cls, memory_bytes: int, own_bytes: Sequence[int | None]) -> "MemoryPlan":
        """`own_bytes` are as in `first_budgets`. Raises ValueError."""
        first_bytes = first_budgets(memory_bytes, own_bytes)
        return cls(memory_bytes, first_bytes, tuple(own is not None for own in own_bytes))


def first_budgets(memory_bytes: int, own_bytes: Sequence[int | None]) -> tuple[int, ...]:
    """The budgets of containers that start: a container's own value where it has one, and equal shares of the rest, in
    whole MiB.

    Raises ValueError if the own values leave nothing for the others, or exceed the memory.
    """
    rest_bytes = memory_bytes - sum(own for own in own_bytes if own is not None)
    others = sum(own is None for own in own_bytes)
    if rest_bytes < others * MIB:
        raise ValueError(
            f"their own values are {(memory_bytes - rest_bytes) / MIB:g} MiB together, and the instance has "
            f"{memory_bytes / MIB:g} MiB for all containers" + (", also for those without a value" if others else "")
        )
    return tuple(rest_bytes // others // MIB * MIB if own is None else own for own in own_bytes)


def fair_budgets(memory_bytes: int, containers: Sequence[ContainerMemory]) -> tuple[int, ...]:
    """The budget that each container should have. The present budgets together must not exceed the memory."""
    present = tuple(one.budget_bytes for one in containers)
    if not any(one.presses for one in containers):
        return present
    shared_bytes = memory_bytes - sum(one.budget_bytes for one in containers if one.fixed)
    demands = [_demand(one) for one in containers]
    levels = iter(water_fill(shared_bytes, [demand for demand in demands if demand is not None]))
    fair = tuple(had if demand is None else next(levels) for had, demand in zip(present, demands, strict=True))
    gains = [new - had for new, had, one in zip(fair, present, containers, strict=True) if one.presses]
    return fair if max(gains) >= MOVE_MIN_BYTES else present


def raised_budgets(memory_bytes: int, containers: Sequence[ContainerMemory], fair: Sequence[int]) -> tuple[int, ...]:
    """The budgets that may be raised now, towards the fair ones; every other container keeps the budget that it has.

    Only memory that is free now is given out. A container that gave memory back may still use it: its models are in
    use.
    """
    free_bytes = memory_bytes - sum(one.held_bytes for one in containers)
    if free_bytes <= 0:
        return tuple(one.budget_bytes for one in containers)
    given = water_fill(free_bytes, [max(0, new - one.held_bytes) for new, one in zip(fair, containers, strict=True)])
    return tuple(
        max(one.budget_bytes, min(new, one.held_bytes) + more)
        for new, one, more in zip(fair, containers, given, strict=True)
    )


def replacement_budget(memory_bytes: int, others: Sequence[ContainerMemory], share_bytes: int) -> int:
    """The budget of a container that starts again: its first one, or what the others leave free. At least 1 MiB."""
    free_bytes = memory_bytes - sum(one.held_bytes for one in others)
    return max(MIB, min(share_bytes, free_bytes))


def water_fill(amount: int, demands: Sequence[float]) -> tuple[int, ...]:
    """Max-min fair parts of a whole amount: no part exceeds its demand, and where the amount does not meet all demands,
    no part could grow except at the cost of a smaller one.

    Of demands without a bound, the first ones get what a division leaves over.
    """
    parts = [0] * len(demands)
    left = amount
    by_demand = sorted(range(len(demands)), key=lambda place: demands[place])
    for served, place in enumerate(by_demand):
        level = -(-left // (len(demands) - served))  # rounded up: what is left over goes to the first ones
        parts[place] = int(min(demands[place], level))
        left -= parts[place]
    return tuple(parts)


def _demand(container: ContainerMemory) -> float | None:
    """What the container could take of the shared memory, None for a fixed one."""
    if container.fixed:
        return None
    return inf if container.presses else container.used_bytes + container.head_bytes
