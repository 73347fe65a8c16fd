"""Which models are in a tier (memory, or disk), which are in flight, and who must leave: plans, never acts.

One `Residency` keeps the books of one tier. The shell asks, carries the plan out, and reports back:

    request ──► Hit                 it is here; the caller holds a pin until `released`
            ├─► Wait                somebody brings it in already; the caller holds a pin
            ├─► Lead                nobody does: the caller brings it in, then asks `admit`
            └─► Later               it is on its way out: ask again after a change
    expect  ──► True                nobody has it and nobody asks yet: the shell brings it in, with a pin of its own
    admit   ──► Admit(victims)      unload these, `unloaded` each, then bring it in: `loaded` or `failed`
            ├─► Later(victims)      all room is in use, or too many loads at once: ask again after a change; where the
            │                       process uses more than the books explain, unload these, for it may go with them
            └─► Refuse              it can never fit, or it is only expected and those with room are expected too

The plan never exceeds the budget: room is taken from the victims and given to the newcomer in one step, and nothing
with a pin is ever a victim. Whoever got Hit, Wait or Lead calls `released` once, unless told of a failure: `failed`
ends all pins of that model.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from torpor_container.core.policies import Policy

LEFT_MAX: Final = 10_000


class ModelStage(Enum):
    COMING = auto()  # somebody fetches it; no room taken yet
    LOADING = auto()  # admitted: its predicted size is taken
    HERE = auto()
    LEAVING = auto()  # chosen to leave: its room is given away, the shell has yet to unload it


COMING: Final = ModelStage.COMING
LOADING: Final = ModelStage.LOADING
HERE: Final = ModelStage.HERE
LEAVING: Final = ModelStage.LEAVING


class Resident:
    """What is known of one model while it is here, coming or leaving."""

    __slots__ = ("expected", "hits", "pins", "size_bytes", "stage", "used_s")

    def __init__(self, stage: ModelStage, size_bytes: int, pins: int, used_s: float, expected: bool = False) -> None:
        self.stage = stage
        self.size_bytes = size_bytes
        self.pins = pins
        self.hits = 0
        self.used_s = used_s
        self.expected = expected  # it was brought in for nobody; a hit or a caller who waited for it ends that

    @property
    def awaited(self) -> bool:
        """Whether nobody has asked for it yet, and somebody is expected to."""
        return self.expected and not self.hits


@dataclass(frozen=True)
class Decision:
    """One line of the story of a model: `action` is a word of the contract, `reason` a sentence."""

    at_s: float
    model: str
    action: str
    reason: str
    size_bytes: int = 0
    took_s: float = 0.0
    for_model: str = ""


@dataclass(frozen=True)
class Hit:
    pass


@dataclass(frozen=True)
class Wait:
    pass


@dataclass(frozen=True)
class Lead:
    pass


class Admit:
    """It may come in, and these leave for it."""

    __slots__ = ("victims",)
    __match_args__ = ("victims",)

    def __init__(self, victims: tuple[str, ...]) -> None:
        self.victims = victims

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Admit) and other.victims == self.victims


@dataclass(frozen=True)
class Later:
    reason: str
    victims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refuse:
    reason: str


# they carry nothing, so one of each serves every request
HIT: Final = Hit()
WAIT: Final = Wait()
LEAD: Final = Lead()
NOT_YET: Final = Later("it is on its way out")


class Residency:
    """The books of one tier. Bytes are what the shell measures or predicts; `now_s` never goes back."""

    def __init__(
        self,
        budget_bytes: int,
        policy: Policy,
        loads_max: int,
        record: Callable[[Decision], None] | None = None,
    ) -> None:
        """`record` is told every decision. Where nobody is, no sentence is made, and none is remembered."""
        self.budget_bytes = budget_bytes
        self._policy = policy
        self.selective = policy.selective
        self._loads_max = loads_max
        self._limit = Later(f"{loads_max} loads are in flight, the limit")
        self._record = record
        self._models: dict[str, Resident] = {}
        self._loads = 0
        self.planned_bytes = 0  # HERE + LOADING
        self.idle_bytes = 0  # HERE without a pin
        self._leaving_bytes = 0
        self.unaccounted_bytes = 0  # what the measurement shows beyond the books
        self._left: OrderedDict[str, str] = OrderedDict()  # why those left that did so last

    # -- asking ----------------------------------------------------------------------------------------------------
    def request(self, name: str, now_s: float) -> Hit | Wait | Lead | Later:
        """A caller wants the model."""
        model = self._models.get(name)
        if model is None:
            self._models[name] = Resident(COMING, 0, 1, now_s)
            return LEAD
        if model.stage is HERE:
            if not model.pins:
                self.idle_bytes -= model.size_bytes
            model.pins += 1
            model.hits += 1
            model.used_s = now_s
            self._policy.touched(name)
            return HIT
        if model.stage is LEAVING:
            return NOT_YET
        model.used_s = now_s
        model.pins += 1
        model.expected = False
        return WAIT

    def expect(self, name: str, now_s: float) -> bool:
        """Somebody will want the model soon. False if it is here, coming or leaving."""
        if name in self._models:
            return False
        self._models[name] = Resident(COMING, 0, 1, now_s, expected=True)
        return True

    def admit(self, name: str, size_bytes: int, now_s: float) -> Admit | Later | Refuse:
        """The leader knows how big the model will be: may it come in, and who leaves for it?"""
        if size_bytes > self.budget_bytes:
            reason = f"it needs {size_bytes:,} bytes and the whole budget is {self.budget_bytes:,}"
            self._note(now_s, name, "refuse", reason, size_bytes)
            return Refuse(reason)
        if self.at_limit:
            return self._limit
        missing_bytes = self.planned_bytes + self.unaccounted_bytes + size_bytes - self.budget_bytes
        model = self._models[name]
        if model.awaited and missing_bytes > self._unawaited_bytes():
            reason = f"{missing_bytes:,} bytes are missing, and who is expected drives out nobody who is expected too"
            self._note(now_s, name, "refuse", reason, size_bytes)
            return Refuse(reason)
        if missing_bytes > 0 and (short := self._short(missing_bytes, name, size_bytes, now_s)):
            return short
        victims = self._evict(missing_bytes, name, now_s, model.awaited) if missing_bytes > 0 else ()
        model.stage, model.size_bytes = LOADING, size_bytes
        self.planned_bytes += size_bytes
        self._loads += 1
        if self._record is not None:
            room = f"after {len(victims)} left for it" if victims else "there is room"
            self._note(now_s, name, "load", f"predicted {size_bytes:,} bytes; {room}", size_bytes)
        return Admit(victims)

    # -- reporting back --------------------------------------------------------------------------------------------
    def loaded(self, name: str, size_bytes: int, took_s: float, now_s: float, note: str = "") -> None:
        """It is here, and this is what it really takes; `note` says what else is to be known of how it came.

        Call `excess` next: it may be more than was predicted.
        """
        model = self._models[name]
        if self._record is not None:
            story = f"measured {size_bytes:,} bytes" + (f"; {note}" if note else "")
            self._note(now_s, name, "loaded", story, size_bytes, took_s)
        self.planned_bytes += size_bytes - model.size_bytes
        self._loads -= 1
        model.stage, model.size_bytes = HERE, size_bytes
        if not model.pins:  # its callers have all given up
            self.idle_bytes += size_bytes
        self._policy.added(name, size_bytes, took_s)

    def found(self, name: str, size_bytes: int, now_s: float) -> None:
        """It was here before these books were begun. Nobody asked for it, and the shell saw that it fits."""
        self._models[name] = Resident(HERE, size_bytes, 0, now_s)
        self.planned_bytes += size_bytes
        self.idle_bytes += size_bytes
        self._policy.added(name, size_bytes, 0.0)
        self._note(now_s, name, "found", "an earlier process left it", size_bytes)

    def failed(self, name: str, reason: str, now_s: float) -> bool:
        """It did not come in. Every pin on it ends here. True if others may come in for that: it had been admitted."""
        model = self._models.pop(name)
        admitted = model.stage is LOADING
        if admitted:
            self.planned_bytes -= model.size_bytes
            self._loads -= 1
        self._note(now_s, name, "failed", reason)
        return admitted

    def released(self, name: str) -> bool:
        """One caller is done with it. True if nobody uses it now."""
        model = self._models[name]
        model.pins -= 1
        idle = model.pins == 0 and model.stage is HERE
        if idle:
            self.idle_bytes += model.size_bytes
        return idle

    def unloaded(self, name: str, took_s: float, now_s: float) -> None:
        """A model that had to leave is gone."""
        model = self._models.pop(name)
        self._leaving_bytes -= model.size_bytes
        if self._record is not None:
            self._note(now_s, name, "unloaded", "its room is free", model.size_bytes, took_s)

    def measured(self, used_bytes: int, gone: str | None = None) -> None:
        """The process's own measurement has the last word: what the books do not explain takes room too.

        Whoever is on the way out is in it still, but for the one that is `gone`, and about to be reported unloaded.
        """
        leaving_bytes = self._leaving_bytes - (self._models[gone].size_bytes if gone is not None else 0)
        self.unaccounted_bytes = max(0, used_bytes - self.planned_bytes - leaving_bytes)

    # -- making models leave ---------------------------------------------------------------------------------------
    def excess(self, newcomer: str, now_s: float) -> tuple[str, ...]:
        """The models that must leave because more memory is used than planned. Busy ones stay, so it may not be enough.

        Nobody, where the process itself takes most of the budget: that does not go with any model.
        """
        if self.overrun:
            return ()
        over_bytes = self.planned_bytes + self.unaccounted_bytes - self.budget_bytes
        return self._evict(over_bytes, newcomer, now_s) if over_bytes > 0 else ()

    def one_more(self, newcomer: str, now_s: float) -> tuple[str, ...]:
        """Who must leave because a load found no memory, whatever the books say. Empty if nobody can."""
        return self._evict(1, newcomer, now_s, self._models[newcomer].awaited)

    def drop(self, name: str, reason: str, now_s: float) -> bool:
        """Make one idle model leave, whatever the policy says. False if it is not here or busy."""
        model = self._models.get(name)
        if model is None or model.stage is not HERE or model.pins:
            return False
        self._leave(name, now_s, reason)
        return True

    def spent(self, name: str, now_s: float) -> bool:
        """A caller was served: does the model leave at once, because nobody uses it and the policy keeps it not?"""
        if not self.selective:
            return False
        model = self._models.get(name)
        if model is None or model.stage is not HERE or model.pins:
            return False
        free_bytes = self.budget_bytes - self.planned_bytes - self.unaccounted_bytes
        if self._policy.keeps(name, free_bytes):
            return False
        self._leave(name, now_s, "served, and not kept by the policy")
        return True

    # -- looking ---------------------------------------------------------------------------------------------------
    def __contains__(self, name: str) -> bool:
        model = self._models.get(name)
        return model is not None and model.stage is HERE

    def __iter__(self) -> Iterator[tuple[str, Resident]]:
        """Every model that is here, with its books."""
        for name, model in self._models.items():
            if model.stage is HERE:
                yield name, model

    def get(self, name: str) -> Resident | None:
        return self._models.get(name)

    @property
    def at_limit(self) -> bool:
        """Whether so many loads are in flight that none is admitted."""
        return self._loads >= self._loads_max

    @property
    def overrun(self) -> bool:
        """Whether more is used than the budget, and most of that is no model's."""
        used_bytes = self.planned_bytes + self.unaccounted_bytes
        return used_bytes > self.budget_bytes and self.unaccounted_bytes > self.budget_bytes // 2

    def may_admit(self, size_bytes: int) -> bool:
        """False where `admit` would tell any model of this size that somebody has asked for to come again later, and do
        nothing else: there is no need to ask."""
        if self._loads >= self._loads_max:
            return False
        missing_bytes = self.planned_bytes + self.unaccounted_bytes + size_bytes - self.budget_bytes
        busy = missing_bytes > self.idle_bytes and self.idle_bytes < self.planned_bytes and missing_bytes > 0
        return not busy or size_bytes > self.budget_bytes or not self._policy.evicts

    def has_room(self, size_bytes: int) -> bool:
        """Whether one more model of this size could come in without another leaving."""
        return self.planned_bytes + self.unaccounted_bytes + size_bytes <= self.budget_bytes

    def why_absent(self, name: str) -> str:
        """Why a model had to be brought in: what made it leave the last time, if it is remembered."""
        return self._left.get(name, "it is the first request for it on this instance")

    # -- inside ----------------------------------------------------------------------------------------------------
    def _may_leave(self, name: str) -> bool:
        return self._models[name].pins == 0

    def _may_leave_for_expected(self, name: str) -> bool:
        model = self._models[name]
        return model.pins == 0 and not model.awaited

    def _unawaited_bytes(self) -> int:
        """What can be had for a model that is expected."""
        return sum(model.size_bytes for _, model in self if not model.pins and not model.awaited)

    def _short(self, missing_bytes: int, name: str, size_bytes: int, now_s: float) -> Later | Refuse | None:
        """Why the room cannot be made now, or ever; None if idle models can make it."""
        if not self._policy.evicts:
            reason = f"it needs {size_bytes:,} bytes, {missing_bytes:,} are missing, and nobody is unloaded for it"
            self._note(now_s, name, "refuse", reason, size_bytes)
            return Refuse(reason)
        if missing_bytes <= self.idle_bytes:
            return None
        if self.idle_bytes < self.planned_bytes:
            return Later(f"{missing_bytes:,} bytes are missing and every other model is busy")
        if any(model.stage is LEAVING for model in self._models.values()):
            return Later(f"{missing_bytes:,} bytes are missing until those who leave are gone")
        if leavers := self._evict(1, name, now_s):
            return Later(f"{missing_bytes:,} bytes are missing, more than the books can give", leavers)
        used = f"the process itself uses {self.unaccounted_bytes:,} of {self.budget_bytes:,}"
        reason = f"it needs {size_bytes:,} bytes and {used}: give the instance more (TORPOR_MEMORY_MIB)"
        self._note(now_s, name, "refuse", reason, size_bytes)
        return Refuse(reason)

    def _evict(self, missing_bytes: int, newcomer: str, now_s: float, for_expected: bool = False) -> tuple[str, ...]:
        victims = list[str]()
        may_leave = self._may_leave_for_expected if for_expected else self._may_leave
        while missing_bytes > 0 and (victim := self._policy.victim(may_leave)) is not None:
            missing_bytes -= self._models[victim].size_bytes
            self._leave(victim, now_s, for_model=newcomer)
            victims.append(victim)
        return tuple(victims)

    def _leave(self, name: str, now_s: float, reason: str = "", for_model: str = "") -> None:
        """For a reason, or for a model that needs the room."""
        model = self._models[name]
        model.stage = LEAVING
        self.planned_bytes -= model.size_bytes
        self.idle_bytes -= model.size_bytes
        self._leaving_bytes += model.size_bytes
        self._policy.removed(name)
        if self._record is not None:
            reason = reason or f"{for_model} needs the room"
            self._remember(name, reason)
            story = f"{reason}; idle for {now_s - model.used_s:.1f} s after {model.hits} hits"
            self._record(Decision(now_s, name, "evict", story, model.size_bytes, 0.0, for_model))

    def _remember(self, name: str, reason: str) -> None:
        self._left[name] = reason
        self._left.move_to_end(name)
        if len(self._left) > LEFT_MAX:
            self._left.popitem(last=False)

    def _note(
        self, now_s: float, name: str, action: str, reason: str, size_bytes: int = 0, took_s: float = 0.0
    ) -> None:
        if self._record is not None:
            self._record(Decision(now_s, name, action, reason, size_bytes, took_s))
