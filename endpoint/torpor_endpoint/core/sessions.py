"""Remembers which instance holds which stateful session, as the answers of models tell it. It routes nothing.

AWS, InvokeEndpoint, SessionId: "For any subsequent request where you specify that session ID, SageMaker AI routes the
request to the same instance that supports the session."
"""

from typing import NamedTuple

SESSIONS_MAX = 16_384


class SessionKey(NamedTuple):
    """A model makes the ids of its own sessions: those of two models may be equal."""

    model: str | None  # the TargetModel; None on a variant with one model
    session: bytes


class SessionHolder(NamedTuple):
    slot: int
    incarnation: str
    """A later incarnation of the slot has none of its sessions."""


class StatefulSessions:
    """The sessions of one variant. Of more than `most`, those that were used longest ago are forgotten."""

    def __init__(self, most: int = SESSIONS_MAX) -> None:
        self._most = most
        self._holders: dict[SessionKey, SessionHolder] = {}

    def began(self, key: SessionKey, holder: SessionHolder) -> None:
        self._holders.pop(key, None)
        self._holders[key] = holder
        if len(self._holders) > self._most:
            del self._holders[next(iter(self._holders))]

    def ended(self, key: SessionKey) -> None:
        self._holders.pop(key, None)

    def holder(self, key: SessionKey) -> SessionHolder | None:
        """The holder of a session that is in use; None for one that no answer has begun."""
        holder = self._holders.pop(key, None)
        if holder is not None:
            self._holders[key] = holder
        return holder

    def __len__(self) -> int:
        return len(self._holders)
