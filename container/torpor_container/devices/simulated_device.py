"""A device that tests simulate: a budget of bytes, a clock for copies, and faults. Libraries predict on the processor.

It takes memory as an H200 was seen to do with ONNX Runtime 1.31 and XGBoost 3.4: the process's context at the first
use, kernels at a library's first prediction, a workspace for each session and each thread that runs it, arenas and a
pool that keep what they took.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from torpor_container.devices.bound_session import BoundSession, places_of_outputs
from torpor_container.devices.device import DeviceMissing, DeviceUse

MIB: Final = 1024**2
GIB: Final = 1024**3


@dataclass(frozen=True)
class TakenBytes:
    """What is taken on the device, in bytes. The defaults are about those of an H200."""

    context: int = 528 * MIB
    kernels: int = 100 * MIB
    """By each library, with its first prediction."""
    workspace: int = 66 * MIB
    """By each session as it is made, and again by each thread that runs it."""
    weights: Callable[[int], int] = lambda own_bytes: own_bytes
    """By a model that has so many bytes itself."""
    of_rows: float = 4.0
    """By an arena, or XGBoost's pool, for each byte of a request's rows: they keep the most that was needed."""


@dataclass
class _Session:
    size_bytes: int
    cap_bytes: int
    threads: dict[int, int] = field(default_factory=dict)
    arena_bytes: int = 0
    bound_bytes: int = 0  # in the arena, which cannot give them back

    @property
    def held_bytes(self) -> int:
        return self.size_bytes + max(self.arena_bytes, self.bound_bytes) + sum(self.threads.values())


class _SimulatedBinding(BoundSession):
    """Its outputs stay on the device until it is released, in the arena of the session."""

    def __init__(self, session: Any, held: _Session, needs: Callable[[Mapping[str, Any]], None]) -> None:
        """`needs` takes what a call with these inputs needs on the device."""
        super().__init__(session, places_of_outputs(session, 0))
        self._held = held
        self._needs = needs

    def run(self, outputs: Sequence[str], feed: Mapping[str, Any]) -> list[Any]:
        try:
            self._needs(feed)
        except RuntimeError:
            self.release()
            raise
        values = super().run(outputs, feed)
        self._held.bound_bytes = sum(one.nbytes for one in values)
        self._held.arena_bytes = max(self._held.arena_bytes, self._held.bound_bytes)
        return values

    def release(self) -> None:
        super().release()
        self._held.bound_bytes = 0


class SimulatedDevice:
    """`copied` is called with the seconds of each copy onto it, for a clock of virtual time."""

    name = "cuda:0"
    model = "simulated device"

    def __init__(
        self,
        total_bytes: int = 16 * GIB,
        taken: TakenBytes | None = None,
        bytes_per_s: float = 10e9,
        copied: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self.total_bytes = total_bytes
        self.lost = ""
        self.others_bytes = 0  # held by other processes
        self.falls_back = False  # whether XGBoost finds no device
        self.full_at_runs = 0  # so many runs find no memory
        self.breaks_at_run = False  # whether the next run loses the device
        self.copies_s = 0.0
        self.shrunk = 0
        self.taken = taken or TakenBytes()
        self._bytes_per_s = bytes_per_s
        self._copied = copied
        self._constant: dict[str, int] = {}  # what the process keeps, by what took it
        self._pool_bytes = 0  # XGBoost's: it never gives back
        self._sessions: dict[int, _Session] = {}
        self._boosters: dict[int, int] = {}

    def use(self) -> DeviceUse:
        return DeviceUse(0.0, self.own_bytes() + self.others_bytes)

    def own_bytes(self) -> int:
        sessions = sum(one.held_bytes for one in self._sessions.values())
        return sum(self._constant.values()) + self._pool_bytes + sessions

    @property
    def held(self) -> int:
        """How many sessions and boosters are on it."""
        return len(self._sessions) + len(self._boosters)

    def trim(self) -> None:
        """XGBoost's pool keeps what it has."""

    # -- ONNX Runtime ----------------------------------------------------------------------------------------------
    def session(self, model: str | bytes, options: Any, cap_bytes: int) -> Any:
        import onnxruntime

        weights_bytes = self.taken.weights(len(model) if isinstance(model, bytes) else _file_bytes(model))
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        words = "Failed to allocate memory for requested buffer of size"
        self._constantly(words, context=self.taken.context)
        size_bytes = weights_bytes + self.taken.workspace
        self._ensure_room(size_bytes, words)
        self._sessions[id(session)] = _Session(size_bytes, cap_bytes)
        self._copy(weights_bytes)
        return session

    def close_session(self, session: Any) -> None:
        """What is bound keeps the session, and its memory, as it does on a device."""
        held = self._sessions.get(id(session))
        if held is not None and not held.bound_bytes:
            del self._sessions[id(session)]

    def run(self, session: Any, outputs: list[str], feed: dict[str, Any], shrink: bool) -> list[Any]:
        held = self._sessions[id(session)]
        self._need(held, feed)
        held.arena_bytes = 0 if shrink else held.arena_bytes
        self.shrunk += shrink
        values: list[Any] = session._sess.run(outputs, feed, None)
        return values

    def bound(self, session: Any) -> BoundSession:
        held = self._sessions[id(session)]
        return _SimulatedBinding(session, held, lambda feed: self._need(held, feed))

    def _need(self, held: _Session, feed: Mapping[str, Any]) -> None:
        """Have the arena take what a call with these inputs needs. Raises RuntimeError if there is no room."""
        self._strike()
        words = "CUDA failure 2: out of memory ; GPU=0 ; CUBLAS_STATUS_ALLOC_FAILED"
        self._constantly(words, onnxruntime=self.taken.kernels)
        thread = threading.get_ident()
        if thread not in held.threads:
            self._ensure_room(self.taken.workspace, words)
            held.threads[thread] = self.taken.workspace
        needed_bytes = int(self.taken.of_rows * sum(rows.nbytes for rows in feed.values()))
        if needed_bytes > held.cap_bytes:
            raise RuntimeError(
                f"Available memory of {held.cap_bytes} is smaller than requested bytes of {needed_bytes}"
            )
        self._ensure_room(needed_bytes - held.arena_bytes, words)
        held.arena_bytes = max(held.arena_bytes, needed_bytes)

    # -- XGBoost ---------------------------------------------------------------------------------------------------
    def place(self, booster: Any) -> None:
        if self.falls_back:
            raise DeviceMissing(f"XGBoost found no {self.name}, and would predict on the processor")
        booster.set_param({"device": "cpu", "nthread": 1, "validate_parameters": False})
        words = "cudaErrorMemoryAllocation: out of memory"
        self._constantly(words, context=self.taken.context, xgboost=self.taken.kernels)
        weights_bytes = self.taken.weights(len(booster.save_raw("ubj")))
        self._pool(sum(self._boosters.values()) + weights_bytes, words)
        self._boosters[id(booster)] = weights_bytes
        self._copy(weights_bytes)

    def close_booster(self, booster: Any) -> None:
        self._boosters.pop(id(booster), None)

    def rows(self, rows: Any) -> Any:
        self._strike()
        needed_bytes = sum(self._boosters.values()) + int(self.taken.of_rows * rows.nbytes)
        self._pool(needed_bytes, "cudaErrorMemoryAllocation: out of memory")
        return rows

    # -- memory ----------------------------------------------------------------------------------------------------
    def _constantly(self, words: str, **taken: int) -> None:
        new: Mapping[str, int] = {name: size for name, size in taken.items() if name not in self._constant}
        self._ensure_room(sum(new.values()), words)
        self._constant.update(new)

    def _pool(self, needed_bytes: int, words: str) -> None:
        self._ensure_room(needed_bytes - self._pool_bytes, words)
        self._pool_bytes = max(self._pool_bytes, needed_bytes)

    def _ensure_room(self, more_bytes: int, words: str) -> None:
        if more_bytes > 0 and self.own_bytes() + self.others_bytes + more_bytes > self.total_bytes:
            raise RuntimeError(f"{words} {more_bytes}")

    def _copy(self, size_bytes: int) -> None:
        self.copies_s += size_bytes / self._bytes_per_s
        self._copied(size_bytes / self._bytes_per_s)

    def _strike(self) -> None:
        if self.breaks_at_run:
            raise RuntimeError("CUDA failure 700: an illegal memory access was encountered ; GPU=0")
        if self.full_at_runs:
            self.full_at_runs -= 1
            raise RuntimeError("CUDA failure 2: out of memory ; GPU=0")


def _file_bytes(path: str) -> int:
    with open(path, "rb") as file:
        return file.seek(0, 2)
