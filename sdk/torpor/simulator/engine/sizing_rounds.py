"""The rounds of a simulated variant's sizing rule: once a second, but for those in which nothing could change.

This module decides nothing. `torpor_endpoint.core.scaling` decides how many instances there should be.
"""

from math import floor, inf
from typing import Protocol

from torpor.simulator.engine.virtual_time import Kernel
from torpor_container.core.keepalive import KeepAlive
from torpor_endpoint.core.scaling import SHRINK_S, Habits, InstanceRange
from torpor_endpoint.core.traffic import Traffic

PERIOD_S = 1.0
"""Seconds between two evaluations of the sizing rule, and between two searches for idle models: as in the endpoint."""


class SizedVariant(Protocol):
    """What the rule looks at, and changes."""

    @property
    def size(self) -> int: ...

    @property
    def stopping(self) -> bool: ...

    @property
    def quiet(self) -> bool: ...

    def scale(self, size: int) -> None: ...


class SizingRounds:
    """The rounds of one variant, which may have as many instances as `allowed` says."""

    def __init__(
        self, kernel: Kernel, variant: SizedVariant, allowed: InstanceRange, keep_alive: KeepAlive, traffic: Traffic
    ) -> None:
        self._kernel = kernel
        self._variant = variant
        self._allowed = allowed
        self._keep_alive = keep_alive
        self._habits = Habits(keep_alive)
        self._traffic = traffic
        self.skipped_since_s = inf  # the first round that was skipped; inf: none

    def round(self, _: None) -> None:
        """Evaluate the rule now, and plan the next round."""
        now_s, variant = self._kernel.now_s, self._variant
        if wanted := self._habits.wanted(self._allowed, variant.size, self._traffic, now_s):
            variant.scale(wanted.size)
        if variant.quiet:
            return
        if self._traffic.demand or variant.stopping or variant.size > self._allowed.floor:
            self._kernel.at(now_s + PERIOD_S, self.round, None)
        else:
            self._skip(now_s + PERIOD_S)

    def _skip(self, next_s: float) -> None:
        """Skip rounds: without requests, and without an instance that may stop, nothing changes until a request comes
        or is expected."""
        self.skipped_since_s = next_s
        nap, idle_s = self._keep_alive.nap(), self._traffic.idle_s(self._kernel.now_s)
        if idle_s < nap.wake_s < nap.until_s:
            expected_s = self._kernel.now_s + nap.wake_s - idle_s
            self._kernel.at(max(next_s, floor(expected_s) - PERIOD_S), self._expect, next_s)

    def _expect(self, skipped_since_s: float) -> None:
        """Resume just before the expected request, unless another request came first."""
        if self.skipped_since_s == skipped_since_s and not self._variant.quiet:
            self.resume(self._kernel.now_s)

    def resume(self, next_s: float) -> None:
        """Have the next round then. The rule remembers its latest evaluations: make up for the skipped ones that it
        would still remember."""
        at_s = max(self.skipped_since_s, next_s - SHRINK_S)
        while at_s < next_s:
            self._habits.wanted(self._allowed, 0, self._traffic, at_s)
            at_s += PERIOD_S
        self.skipped_since_s = inf
        self._kernel.at(next_s, self.round, None)
