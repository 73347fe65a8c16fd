"""Which instance of a variant holds a stateful session, and what its answers tell of sessions. Pure."""

from typing import Protocol, TypeVar

from torpor_container import wire
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.routing.ready_slots import PlacedInstance
from torpor_endpoint.core.routing.session_names import mark_of, with_holder, without_holder
from torpor_endpoint.core.sending.trail import PartAnswer
from torpor_endpoint.core.sessions import SessionHolder, SessionKey, StatefulSessions

NEW_SESSION = wire.NEW_SESSION_ID.lower().encode()
CLOSED_SESSION = wire.CLOSED_SESSION_ID.lower().encode()

Instance = TypeVar("Instance", bound=PlacedInstance)


class SessionPool(Protocol[Instance]):
    """The instances of one variant, and their sessions."""

    ready: Placement[Instance]
    sessions: StatefulSessions
    names_holders: bool
    """Whether the ids of new sessions name the instance that holds them."""

    def holder(self, instance: Instance, /) -> SessionHolder:
        """The instance as a holder of sessions."""


def holder_in(pool: SessionPool[Instance], target: str | None, session: bytes) -> Instance | None:
    """The ready instance of this variant that holds the session, as the id names it, or as its router remembers."""
    own, named = without_holder(session)
    if named is not None:
        ready = pool.ready.get(named.slot)
        return ready if ready is not None and mark_of(pool.holder(ready).incarnation) == named.mark else None
    held = pool.sessions.holder(SessionKey(target, own))
    ready = None if held is None else pool.ready.get(held.slot)
    return ready if ready is not None and pool.holder(ready) == held else None


def knows_session(pool: SessionPool[Instance], target: str | None, session: bytes) -> bool:
    """Whether the session is of this variant."""
    own, named = without_holder(session)
    if named is None:
        return pool.sessions.holder(SessionKey(target, own)) is not None
    return holder_in(pool, target, session) is not None


def note_session(pool: SessionPool[Instance], target: str | None, instance: Instance, answer: PartAnswer) -> None:
    """Remember a session that a model began, and forget one that it ended."""
    holder = pool.holder(instance)
    if (began := answer.header(NEW_SESSION)) is not None:
        pool.sessions.began(SessionKey(target, began.partition(b";")[0]), holder)
    if (ended := answer.header(CLOSED_SESSION)) is not None:
        pool.sessions.ended(SessionKey(target, ended))
    if pool.names_holders:
        answer.headers[:] = [_naming(name, value, holder) for name, value in answer.headers]
        answer.alike = b""


def _naming(name: bytes, value: bytes, holder: SessionHolder) -> tuple[bytes, bytes]:
    """The header for the caller: a session's id names its holder, and any router finds it."""
    if name not in (NEW_SESSION, CLOSED_SESSION):
        return name, value
    session, more, rest = value.partition(b";")
    return name, with_holder(session, holder.slot, holder.incarnation) + more + rest
