"""Decides how long a connection waits for its client: the stages of a request, and when each is overdue. No clock."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """What a connection waits for."""

    AT_REST = auto()  # nothing, or not for its client
    SILENT = auto()  # connected, and the client has sent nothing yet
    HEAD = auto()
    BODY = auto()


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


@dataclass(frozen=True)
class ClientTimeouts:
    """`head_s`: seconds for a whole head, and for the first byte of a connection; `body_s`: for a body's next byte."""

    head_s: float = 30.0
    body_s: float = 30.0

    def of(self, kind: Kind) -> float | None:
        return {Kind.SILENT: self.head_s, Kind.HEAD: self.head_s, Kind.BODY: self.body_s}.get(kind)


class ConnectionStage:
    """The stage of one connection, and since when it is in that stage, as of the last look."""

    def __init__(self) -> None:
        self._stage = Stage.at_rest()
        self._since_s = 0.0

    def overdue(self, stage: Stage, patience: ClientTimeouts, now_s: float) -> Kind | None:
        """What the connection has waited for too long; None if for nothing."""
        if stage != self._stage:
            self._stage, self._since_s = stage, now_s
            return None
        limit_s = patience.of(stage.kind)
        return stage.kind if limit_s is not None and now_s - self._since_s >= limit_s else None
