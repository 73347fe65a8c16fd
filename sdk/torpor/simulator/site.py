"""One simulated instance: the live residency's books, carried out in virtual time as the keeper carries them out.

It decides nothing: who is pulled, who waits, who leaves and for whom are `torpor_container.core.residency`'s decisions.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from torpor.simulator.kernel import Kernel
from torpor.simulator.profile import ModelProfile
from torpor_container.core.residency import HIT, LEAD, WAIT, Admit, Refuse, Residency


@dataclass(slots=True)
class Call:
    """One request. Times are virtual seconds; `loading_s` is what it waited for its model."""

    model: str
    arrived_s: float
    asked_s: float = 0.0  # at its instance
    ready_s: float = 0.0  # its model was there
    done_s: float = 0.0
    hit: bool = False
    failed: bool = False


Ended = Callable[[Call], None]


@dataclass
class Site:
    """`servers` predictions run at once; `ended` is told of every call."""

    kernel: Kernel
    memory: Residency
    disk: Residency
    profiles: Mapping[str, ModelProfile]
    servers: int
    ended: Ended
    in_flight: int = 0
    loads: int = 0
    downloads: int = 0
    _busy: int = 0
    _queue: deque[Call] = field(default_factory=deque)
    _waiting: dict[str, list[Call]] = field(default_factory=dict)
    _bell: list[Callable[[], None]] = field(default_factory=list)

    def ask(self, call: Call) -> None:
        """A request for a model has come to this instance."""
        self.in_flight += 1
        call.asked_s = self.kernel.now_s
        self._request(call)

    # -- the model -------------------------------------------------------------------------------------------------
    def _request(self, call: Call) -> None:
        plan = self.memory.request(call.model, self.kernel.now_s)
        if plan is HIT:
            call.hit = call.asked_s == self.kernel.now_s
            self._start(call)
        elif plan is WAIT:
            self._waiting[call.model].append(call)
        elif plan is LEAD:
            self._waiting[call.model] = [call]
            self._pull(call.model)
        else:
            self._bell.append(partial(self._request, call))

    def _pull(self, name: str) -> None:
        plan = self.disk.request(name, self.kernel.now_s)
        if plan is HIT:
            self._admit(name)
        elif plan is LEAD:
            self._admit_to_disk(name)
        else:
            self._bell.append(partial(self._pull, name))

    def _admit_to_disk(self, name: str) -> None:
        profile = self.profiles[name]
        plan = self.disk.admit(name, profile.disk_bytes, self.kernel.now_s)
        if isinstance(plan, Admit):
            self._delete(plan.victims)
            self.downloads += 1
            self.kernel.after(profile.download_s + profile.unpack_s, self._downloaded, name)
        elif isinstance(plan, Refuse):
            self.disk.failed(name, plan.reason, self.kernel.now_s)
            self._fail(name, plan.reason)
        else:
            self._bell.append(partial(self._admit_to_disk, name))

    def _downloaded(self, name: str) -> None:
        profile, now_s = self.profiles[name], self.kernel.now_s
        self.disk.loaded(name, profile.disk_bytes, profile.download_s + profile.unpack_s, now_s)
        self._delete(self.disk.excess(name, now_s))
        self._admit(name)

    def _delete(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.disk.unloaded(name, 0.0, self.kernel.now_s)

    def _admit(self, name: str) -> None:
        plan = self.memory.admit(name, self.profiles[name].memory_bytes, self.kernel.now_s)
        if isinstance(plan, Admit):
            self._dismiss(plan.victims)
            wait_s = max((self.profiles[victim].unload_s for victim in plan.victims), default=0.0)
            self.loads += 1
            self.kernel.after(wait_s + self.profiles[name].load_s, self._loaded, name)
        elif isinstance(plan, Refuse):
            self._give_back(name)
            self._fail(name, plan.reason)
        else:
            self._bell.append(partial(self._admit, name))

    def _loaded(self, name: str) -> None:
        profile, now_s = self.profiles[name], self.kernel.now_s
        self._give_back(name)
        self.memory.loaded(name, profile.memory_bytes, profile.load_s, now_s)
        self._dismiss(self.memory.excess(name, now_s))
        for call in self._waiting.pop(name):
            self._start(call)
        self._ring()

    def _dismiss(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.kernel.after(self.profiles[name].unload_s, self._unloaded, name)

    def _unloaded(self, name: str) -> None:
        self.memory.unloaded(name, self.profiles[name].unload_s, self.kernel.now_s)
        self._ring()

    def _give_back(self, name: str) -> None:
        if self.disk.released(name):
            self._ring()

    def _fail(self, name: str, reason: str) -> None:
        self.memory.failed(name, reason, self.kernel.now_s)
        for call in self._waiting.pop(name):
            call.failed = True
            self._end(call)
        self._ring()

    def _ring(self) -> None:
        """Everybody who waits for room asks again, in order, once this moment's other affairs are over."""
        if self._bell:
            asking, self._bell = self._bell, []
            for ask in asking:
                self.kernel.soon(ask)

    # -- the prediction --------------------------------------------------------------------------------------------
    def _start(self, call: Call) -> None:
        call.ready_s = self.kernel.now_s
        if self._busy < self.servers:
            self._busy += 1
            self.kernel.after(self.profiles[call.model].predict_s, self._done, call)
        else:
            self._queue.append(call)

    def _done(self, call: Call) -> None:
        if self._queue:
            following = self._queue.popleft()
            self.kernel.after(self.profiles[following.model].predict_s, self._done, following)
        else:
            self._busy -= 1
        if self.memory.released(call.model):
            if self.memory.spent(call.model, self.kernel.now_s):
                self._dismiss((call.model,))
            self._ring()
        self._end(call)

    def _end(self, call: Call) -> None:
        call.done_s = self.kernel.now_s
        self.in_flight -= 1
        self.ended(call)
