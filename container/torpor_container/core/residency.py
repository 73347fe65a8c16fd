"""Plans which models come into a tier (memory, or disk) and which leave. It never loads, unloads or waits.

One `Residency` plans for one tier. The keeper asks, carries the plan out, and reports back:

    request ──► Hit                 the model is here; the caller holds a pin until `released`
            ├─► Wait                another caller loads it already; the caller holds a pin
            ├─► Lead                no caller does: this one loads it, and calls `admit` once its size is known
            └─► Later               it is on its way out: ask again after a change
    expect  ──► True                it is neither here nor requested: the keeper loads it, and holds the pin itself
    admit   ──► Admit(victims)      unload these and report `unloaded` for each, then load: `loaded` or `failed`
            ├─► Later(victims)      all room is in use, or too many loads are in flight: ask again after a change. The
            │                       process may use more than its models explain: unload these, which may free it
            └─► Refuse              it can never fit, or it is only expected, and so are the models that have the room

A plan never exceeds the budget: one step takes the room from the victims and gives it to the newcomer, and a model
with a pin is never a victim. A caller that got Hit, Wait or Lead calls `released` once, except after `failed`, which
ends all pins of that model.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from torpor_container.core.eviction import Policy
from torpor_container.core.occupancy import COMING, HERE, LEAVING, LOADING, Occupancy, Resident
from torpor_container.core.versions.copy_names import model_of

LEFT_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about one model: `action` is a word of the `/_torpor/state` contract, `reason` a sentence."""

    at_s: float
    model: str
    action: str
    reason: str
    size_bytes: int = 0
    took_s: float = 0.0
    for_model: str = ""


@dataclass(frozen=True)
class Hit:
    """The model is here, and the caller holds a pin."""


@dataclass(frozen=True)
class Wait:
    """Another caller loads the model, and this one holds a pin too."""


@dataclass(frozen=True)
class Lead:
    """This caller must load the model, and holds a pin."""


class Admit:
    """The model may come in once the victims have left."""

    __slots__ = ("victims",)
    __match_args__ = ("victims",)

    def __init__(self, victims: tuple[str, ...]) -> None:
        self.victims = victims

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Admit) and other.victims == self.victims


@dataclass(frozen=True)
class Later:
    """Ask again after a change, once the victims have left."""

    reason: str
    victims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refuse:
    """The model cannot come in."""

    reason: str


# one object of each serves every request
HIT: Final = Hit()
WAIT: Final = Wait()
LEAD: Final = Lead()
NOT_YET: Final = Later("it is on its way out")


class Residency(Occupancy):
    """The plans for one tier. `now_s` is in seconds and never goes back."""

    def __init__(
        self, budget_bytes: int, policy: Policy, loads_max: int, record: Callable[[Decision], None] | None = None
    ) -> None:
        """`record` gets every decision. Without it no reason is written or remembered."""
        super().__init__(budget_bytes, loads_max)
        self._policy = policy
        self.selective = policy.selective
        self._limit = Later(f"{loads_max} loads are in flight, the limit")
        self._record = record
        self._left: OrderedDict[str, str] = OrderedDict()  # why the last models left, by name

    # -- asking to come in -----------------------------------------------------------------------------------------
    def request(self, name: str, now_s: float) -> Hit | Wait | Lead | Later:
        """Pin the model for a caller. `Later` holds no pin."""
        return HIT if self.hit(name, now_s) else self.missed(name, now_s)

    def missed(self, name: str, now_s: float) -> Wait | Lead | Later:
        """Pin a model that is not here for a caller, for whom `hit` was False. `Later` holds no pin."""
        if (model := self._models.get(name)) is None:
            self._models[name] = Resident(COMING, 0, 1, now_s)
            return LEAD
        if model.stage is LEAVING:
            return NOT_YET
        model.used_s = now_s
        model.pins += 1
        model.expected = False
        return WAIT

    def hit(self, name: str, now_s: float) -> bool:
        """Pin the model for a caller if it is here. False, and nothing changes, if it is not."""
        if (model := self._models.get(name)) is None or model.stage is not HERE:
            return False
        if not model.pins:
            self.idle_bytes -= model.size_bytes
        model.pins += 1
        model.hits += 1
        self.hits += 1
        model.used_s = now_s
        self._policy.touched(name)
        return True

    def expect(self, name: str, now_s: float) -> bool:
        """Plan to load a model before a call comes. False if it is here, coming or leaving."""
        if name in self._models:
            return False
        self._models[name] = Resident(COMING, 0, 1, now_s, expected=True)
        return True

    def admit(self, name: str, size_bytes: int, now_s: float) -> Admit | Later | Refuse:
        """Decide whether a model of this predicted size may come in, and which models leave for it."""
        if size_bytes > self.budget_bytes:
            reason = f"it needs {size_bytes:,} bytes and the whole budget is {self.budget_bytes:,}"
            self.note(now_s, name, "refuse", reason, size_bytes)
            return Refuse(reason)
        if self._loads >= self._loads_max:
            return self._limit
        missing_bytes = self.planned_bytes + self.unaccounted_bytes + size_bytes - self.budget_bytes
        model = self._models[name]
        awaited = model.expected and not model.hits
        if awaited and missing_bytes > self._unawaited_bytes():
            reason = f"{missing_bytes:,} bytes are missing, and no expected model leaves for another expected one"
            self.note(now_s, name, "refuse", reason, size_bytes)
            return Refuse(reason)
        if missing_bytes > 0 and (lack := self._lack_of_room(missing_bytes, name, size_bytes, now_s)):
            return lack
        victims = self._evict(missing_bytes, name, now_s, awaited) if missing_bytes > 0 else ()
        model.stage, model.size_bytes = LOADING, size_bytes
        self.planned_bytes += size_bytes
        self._loads += 1
        if self._record is not None:
            room = f"after {len(victims)} left for it" if victims else "there is room"
            self.note(now_s, name, "load", f"predicted {size_bytes:,} bytes; {room}", size_bytes)
        return Admit(victims)

    # -- reporting back --------------------------------------------------------------------------------------------
    def loaded(self, name: str, size_bytes: int, took_s: float, now_s: float, note: str = "") -> None:
        """The model is here, and takes this much as measured. `note` is added to the decision's reason.

        Call `evict_excess` next: the model may take more than was predicted.
        """
        model = self._models[name]
        if self._record is not None:
            reason = f"measured {size_bytes:,} bytes" + (f"; {note}" if note else "")
            self.note(now_s, name, "loaded", reason, size_bytes, took_s)
        self.planned_bytes += size_bytes - model.size_bytes
        self._loads -= 1
        model.stage, model.size_bytes = HERE, size_bytes
        if not model.pins:  # its callers have all given up
            self.idle_bytes += size_bytes
        self._policy.added(name, size_bytes, took_s)

    def resized(self, name: str, size_bytes: int, now_s: float, reason: str = "", action: str = "resized") -> None:
        """A model that is here takes another size: another form of it serves, or other instances began or ceased to map
        its file. `action` is the decision's, if there is a reason. Call `evict_excess` next if it may take more."""
        model = self._models.get(name)
        if model is None or model.stage is not HERE:
            return
        grown_bytes = size_bytes - model.size_bytes
        self.planned_bytes += grown_bytes
        if not model.pins:
            self.idle_bytes += grown_bytes
        model.size_bytes = size_bytes
        if reason:
            self.note(now_s, name, action, reason, size_bytes)

    def found(self, name: str, size_bytes: int, now_s: float) -> None:
        """The model was here before this residency began, as on a disk. The caller has checked that it fits."""
        self._models[name] = Resident(HERE, size_bytes, 0, now_s)
        self.planned_bytes += size_bytes
        self.idle_bytes += size_bytes
        self._policy.added(name, size_bytes, 0.0)
        self.note(now_s, name, "found", "an earlier process left it", size_bytes)

    def failed(self, name: str, reason: str, now_s: float) -> bool:
        """The load failed, which ends all pins of the model. True if that frees room: the model had been admitted."""
        model = self._models.pop(name)
        admitted = model.stage is LOADING
        if admitted:
            self.planned_bytes -= model.size_bytes
            self._loads -= 1
        self.note(now_s, name, "failed", reason)
        return admitted

    def unloaded(self, name: str, took_s: float, now_s: float) -> None:
        """A model on its way out is gone."""
        model = self._models.pop(name)
        self._leaving_bytes -= model.size_bytes
        if self._record is not None:
            self.note(now_s, name, "unloaded", "its room is free", model.size_bytes, took_s)

    # -- making models leave ---------------------------------------------------------------------------------------
    def evict_excess(self, newcomer: str, now_s: float) -> tuple[str, ...]:
        """Make idle models leave until the tier is within its budget, if there are enough of them. Their names.

        None leave where the process itself takes most of the budget, since that would not go with them.
        """
        over_bytes = self.planned_bytes + self.unaccounted_bytes - self.budget_bytes
        return self._evict(over_bytes, newcomer, now_s) if over_bytes > 0 and not self.overrun else ()

    def evict_over_budget(self, reason: str, now_s: float) -> tuple[str, ...]:
        """Make idle models leave until the tier is within a budget that was lowered, or none is idle. Their names."""
        over_bytes = self.planned_bytes + self.unaccounted_bytes - self.budget_bytes
        return self._evict(over_bytes, "", now_s, reason=reason)

    def evict_one(self, newcomer: str, now_s: float) -> tuple[str, ...]:
        """Make one idle model leave because a load found no memory, whatever was planned. Empty if none is idle."""
        return self._evict(1, newcomer, now_s, self._models[newcomer].awaited)

    def drop(self, name: str, reason: str, now_s: float) -> bool:
        """Make this model leave, whatever the policy says. False if it is not here, or in use."""
        model = self._models.get(name)
        if model is None or model.stage is not HERE or model.pins:
            return False
        self._leave(name, now_s, reason)
        return True

    def drop_unless_kept(self, name: str, now_s: float) -> bool:
        """Make an idle model leave after a call if the policy would not keep it. True if it leaves."""
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

    # -- what is known ---------------------------------------------------------------------------------------------
    @property
    def admissible_bytes(self) -> int:
        """The largest size within the budget for which `admit` may answer more than Later without victims; -1 if there
        is none."""
        if self.at_limit:
            return -1
        if self.idle_bytes >= self.planned_bytes or not self._policy.evicts:
            return self.budget_bytes
        return self.budget_bytes + self.idle_bytes - self.planned_bytes - self.unaccounted_bytes

    def why_absent(self, name: str) -> str:
        """Why a model is not here: the reason for which it left the last time, if that is remembered."""
        return self._left.get(name, "it is the first request for it on this instance")

    # -- inside ----------------------------------------------------------------------------------------------------
    def _lack_of_room(self, missing_bytes: int, name: str, size_bytes: int, now_s: float) -> Later | Refuse | None:
        """Why the room cannot be made now, or ever; None if idle models can make it."""
        if not self._policy.evicts:
            reason = f"it needs {size_bytes:,} bytes, {missing_bytes:,} are missing, and nobody is unloaded for it"
            self.note(now_s, name, "refuse", reason, size_bytes)
            return Refuse(reason)
        if missing_bytes <= self.idle_bytes:
            return None
        if self.idle_bytes < self.planned_bytes:
            return Later(f"{missing_bytes:,} bytes are missing and every other model is busy")
        if any(model.stage is LEAVING for model in self._models.values()):
            return Later(f"{missing_bytes:,} bytes are missing until the models on their way out are gone")
        if victims := self._evict(1, name, now_s):
            return Later(f"{missing_bytes:,} bytes are missing, more than idle models explain", victims)
        used = f"the process itself uses {self.unaccounted_bytes:,} of {self.budget_bytes:,}"
        reason = f"it needs {size_bytes:,} bytes and {used}: give the instance more (TORPOR_MEMORY_MIB)"
        self.note(now_s, name, "refuse", reason, size_bytes)
        return Refuse(reason)

    def _evict(
        self, missing_bytes: int, newcomer: str, now_s: float, for_expected: bool = False, reason: str = ""
    ) -> tuple[str, ...]:
        victims = list[str]()
        may_leave = self._is_idle_and_unawaited if for_expected else self._is_idle
        while missing_bytes > 0 and (victim := self._policy.victim(may_leave)) is not None:
            missing_bytes -= self._models[victim].size_bytes
            self._leave(victim, now_s, reason, newcomer)
            victims.append(victim)
        return tuple(victims)

    def _leave(self, name: str, now_s: float, reason: str, for_model: str = "") -> None:
        """Begin to remove a model, for a reason or for a model that needs the room."""
        model = self._models[name]
        model.stage = LEAVING
        self.planned_bytes -= model.size_bytes
        self.idle_bytes -= model.size_bytes
        self._leaving_bytes += model.size_bytes
        self._policy.removed(name)
        if self._record is not None:
            reason = reason or f"{model_of(for_model)} needs the room"
            self._remember(name, reason)
            hits = "1 hit" if model.hits == 1 else f"{model.hits} hits"
            sentence = f"{reason}; idle for {now_s - model.used_s:.1f} s after {hits}"
            self._record(Decision(now_s, name, "evict", sentence, model.size_bytes, 0.0, for_model))

    def _remember(self, name: str, reason: str) -> None:
        self._left[name] = reason
        self._left.move_to_end(name)
        if len(self._left) > LEFT_MAX:
            self._left.popitem(last=False)

    def note(self, now_s: float, name: str, action: str, reason: str, size_bytes: int = 0, took_s: float = 0.0) -> None:
        """Record a decision: one of this residency's own, or an order that came to its keeper."""
        if self._record is not None:
            self._record(Decision(now_s, name, action, reason, size_bytes, took_s))
