"""How slow this machine is now: bounds of processor time hold for a usual machine, and a slow one takes longer."""

import time

MOST_MS = 50.0
"""The most processor time that a piece of work may take of an event loop, on a machine of the usual speed."""
USUAL_NS = 40.0
"""What a turn of the loop of `slowness` takes on the machines on which the bounds were found: 30 to 45 ns."""
TURNS, ROUNDS = 50_000, 5


def slowness() -> float:
    """By how much a fixed piece of work takes longer than on a usual machine; 1.0 on one that is no slower."""
    return max(1.0, min(_turn_ns() for _ in range(ROUNDS)) / USUAL_NS)


def holds_up(took_ms: float) -> bool:
    """Whether a piece of work that took so much processor time here is too long for an event loop."""
    return took_ms > MOST_MS and took_ms > MOST_MS * slowness()


def _turn_ns() -> float:
    began_ns, total = time.thread_time_ns(), 0
    for number in range(TURNS):
        total += number
    return (time.thread_time_ns() - began_ns) / TURNS
