"""What becomes of the models of one simulated instance that nobody uses: they stay, rest, or leave at once.

This module decides nothing. `torpor_container.core.resting` decides which idle model is unloaded, and which is loaded
before a call; the policy decides which stays after a call.
"""

from collections.abc import Callable, Iterator

from torpor.simulator.engine.call_records import InstanceModel
from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.engine.waiting_room import WaitingRoom
from torpor_container.core.residency import Residency
from torpor_container.core.resting import Resting

REST_S = 1.0
"""How often idle models are looked at."""


class IdleModels:
    """`lead` begins the load of a model, and `dismiss` starts to unload models. Without `cache`, a model leaves, also
    the disk, as soon as it has served its requests."""

    def __init__(
        self,
        kernel: Kernel,
        memory: Residency,
        resting: Resting | None,
        waiters: WaitingRoom,
        cache: bool,
        lead: Callable[[str], InstanceModel],
        dismiss: Callable[[tuple[str, ...]], float],
    ) -> None:
        self._kernel = kernel
        self._memory = memory
        self.resting = resting  # None: models do not rest, or no longer
        self._waiters = waiters
        self._cache = cache
        self._lead = lead
        self._dismiss = dismiss
        self.minded = resting is not None or not cache or memory.selective
        """Whether a model that served its last request may leave for that reason."""

    def rest_while(self, goes_on: Callable[[], bool]) -> None:
        """Look at the idle models each second from now on, as the container does, while this says so."""
        self._kernel.after(REST_S, self._look_while, goes_on)

    def _look_while(self, goes_on: Callable[[], bool]) -> None:
        if self.resting is None or not goes_on():
            return
        self._rest(self.resting)
        self.rest_while(goes_on)

    def _rest(self, resting: Resting) -> None:
        """Unload the models whose keep-alive is over, and load those that it expects calls for."""
        moves = resting.look(self._unused(), self._kernel.now_s)
        for name in moves.leaving:
            self.drop(name, "nobody calls")
        for name in moves.coming:
            self.expect(name)

    def expect(self, name: str) -> None:
        """Load a model for which a call is expected, unless it is there or on its way."""
        if self._memory.expect(name, self._kernel.now_s):
            self._lead(name).expected = True

    def drop(self, name: str, reason: str) -> None:
        """Unload a model, unless it is in use."""
        if self._memory.drop(name, reason, self._kernel.now_s):
            self._dismiss((name,))

    def ended(self, name: str) -> None:
        """The model has served its last request for now."""
        if self.resting is not None:
            self.resting.ended(name, self._kernel.now_s)
        if self._waiters.waiting or not self._cache:
            self._release(name)
        if self._memory.selective and self._cache and self._memory.drop_unless_kept(name, self._kernel.now_s):
            self._dismiss((name,))

    def loaded_before(self, name: str) -> None:
        """End the pin of a model that was loaded before any request. Those that waited for room have asked again by
        now, as in the keeper."""
        if self._memory.released(name):
            self._release(name)

    def _unused(self) -> Iterator[str]:
        for name, model in self._memory:
            if not model.pins:
                yield name

    def _release(self, name: str) -> None:
        """The model is idle. If no request asked for its load, the keep-alive does not count this as a use."""
        if not self._cache:
            self.drop(name, "ModelCacheSetting is Disabled")
        self._waiters.notify()
