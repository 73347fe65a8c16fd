"""Decides how long a connection waits for its client: the stages of a request, and when each is overdue. No clock."""

from enum import Enum, auto
from typing import NamedTuple

from torpor_container.frozen_class import frozen


class Kind(Enum):
    """What a connection waits for."""

    AT_REST = auto()  # nothing, or not for its client
    SILENT = auto()  # connected, and the client has sent nothing yet
    HEAD = auto()
    BODY = auto()
    SLOW_BODY = auto()  # a body comes, and too little of it


class Stage(NamedTuple):
    """One point of a request. Equal stages mean no progress. A head makes no progress: it has one time as a whole."""

    kind: Kind
    request: int = 0
    received: int = 0

    @classmethod
    def at_rest(cls) -> "Stage":
        return cls(Kind.AT_REST)

    @classmethod
    def silent(cls) -> "Stage":
        return cls(Kind.SILENT)

    @classmethod
    def head(cls, request: int) -> "Stage":
        return cls(Kind.HEAD, request)

    @classmethod
    def body(cls, request: int, received: int) -> "Stage":
        return cls(Kind.BODY, request, received)


@frozen
class ClientTimeouts:
    """`head_s`: seconds for a whole head, and for the first byte of a connection; `body_s`: for a body's next byte.

    Of a body that is awaited all the time, `slow_s * least_bytes_per_s` bytes or more come within `slow_s`.
    """

    head_s: float = 30.0
    body_s: float = 30.0
    slow_s: float = 60.0
    least_bytes_per_s: float = 500.0

    def of(self, kind: Kind) -> float | None:
        return {Kind.SILENT: self.head_s, Kind.HEAD: self.head_s, Kind.BODY: self.body_s}.get(kind)


class ConnectionStage:
    """The stage of one connection, and since when it is in that stage, as of the last look."""

    _since_s: float
    _measured_from: tuple[int, float]  # bytes that had come of this body, and when

    def __init__(self) -> None:
        self._stage = Stage.at_rest()

    def overdue(self, stage: Stage, patience: ClientTimeouts, now_s: float) -> Kind | None:
        """What the connection has waited for too long; None if for nothing."""
        before, self._stage = self._stage, stage
        if stage[:2] != before[:2]:
            self._measured_from = stage.received, now_s
        if stage != before:
            self._since_s = now_s
        else:
            limit_s = patience.of(stage.kind)
            if limit_s is not None and now_s - self._since_s >= limit_s:
                return stage.kind
        return Kind.SLOW_BODY if stage.kind is Kind.BODY and self._too_slow(stage, patience, now_s) else None

    def _too_slow(self, stage: Stage, patience: ClientTimeouts, now_s: float) -> bool:
        """Whether too little of a body came within one period. The next one begins at once."""
        received, since_s = self._measured_from
        if now_s - since_s < patience.slow_s:
            return False
        self._measured_from = stage.received, now_s
        return stage.received - received < patience.least_bytes_per_s * (now_s - since_s)
