"""Which instance gets a request: the one that holds its session, the one that did its earlier parts, or the one that
placement ranks first for its model. An instance is in use from a part's beginning until its outcome, and, of several
containers, until the last part.
"""

from torpor_container import wire
from torpor_container.transport.upstream import UpstreamAnswer
from torpor_endpoint.core.lifecycle import InstancePhase
from torpor_endpoint.core.routing.session_names import mark_of, with_holder, without_holder
from torpor_endpoint.core.sessions import SessionHolder, SessionKey
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.runtime.legs import current_leg
from torpor_endpoint.runtime.passage import Leg, Passage, Route, parsed, routed
from torpor_endpoint.runtime.request import SESSION_ID

NEW_SESSION = wire.NEW_SESSION_ID.lower().encode()
CLOSED_SESSION = wire.CLOSED_SESSION_ID.lower().encode()


def pick(passage: Passage) -> Incarnation:
    """The instance for the request: there is a ready one, or one that is kept."""
    route, trail = routed(passage), passage.trail
    if trail is not None and trail.kept is not None and kept(passage, current_leg(passage)):
        return trail.kept
    if (holder := _holder(passage, route)) is not None:
        return holder
    return route.pool.ready.pick(route.target) if route.target is not None else route.pool.ready.least_busy()


def use(passage: Passage, incarnation: Incarnation) -> None:
    """Use the instance for a part of the request. One of several containers stays in use until `let_go`."""
    trail = passage.trail
    if trail is None:
        incarnation.took()
    elif trail.kept is not incarnation:
        let_go(passage)
        incarnation.took()
        trail.kept = incarnation


def used(passage: Passage, incarnation: Incarnation) -> None:
    """The part has an outcome."""
    if passage.trail is None:
        routed(passage).pool.released(incarnation)


def let_go(passage: Passage) -> None:
    """No further part goes to the instance that is kept."""
    trail = passage.trail
    if trail is not None and trail.kept is not None:
        routed(passage).pool.released(trail.kept)
        trail.kept = None


def kept(passage: Passage, leg: Leg) -> bool:
    """Whether the instance that did the parts before this one can do this one too, perhaps while it drains."""
    trail = passage.trail
    if trail is None or trail.kept is None or trail.leg is None or trail.kept.containers[leg.container].has_ended:
        return False
    draining = trail.kept.phase is InstancePhase.DRAINING
    return draining or routed(passage).pool.offered(trail.kept)


# -- sessions ----------------------------------------------------------------------------------------------------------
def _holder(passage: Passage, route: Route) -> Incarnation | None:
    """The instance that holds the request's session; None if the request has none, or that instance is not ready."""
    session = parsed(passage).headers.get(SESSION_ID)
    return None if session is None else holder_in(route.pool, route.target, session)


def holder_in(pool: VariantPool, target: str | None, session: bytes) -> Incarnation | None:
    """The ready instance of this variant that holds the session, as the id names it, or as its router remembers."""
    own, named = without_holder(session)
    if named is not None:
        ready = pool.ready.get(named.slot)
        return ready if ready is not None and mark_of(ready.id) == named.mark else None
    held = pool.sessions.holder(SessionKey(target, own))
    ready = held and pool.ready.get(held.slot)
    return ready if held and ready and ready.id == held.incarnation else None


def knows_session(pool: VariantPool, target: str | None, session: bytes) -> bool:
    """Whether the session is of this variant."""
    own, named = without_holder(session)
    if named is None:
        return pool.sessions.holder(SessionKey(target, own)) is not None
    return holder_in(pool, target, session) is not None


def note_session(passage: Passage, incarnation: Incarnation, answer: UpstreamAnswer) -> None:
    """Remember a session that a model began, and forget one that it ended."""
    if SESSION_ID not in parsed(passage).headers:
        return
    route = routed(passage)
    if (began := answer.header(NEW_SESSION)) is not None:
        session = SessionKey(route.target, began.partition(b";")[0])
        route.pool.sessions.began(session, SessionHolder(incarnation.slot.number, incarnation.id))
    if (ended := answer.header(CLOSED_SESSION)) is not None:
        route.pool.sessions.ended(SessionKey(route.target, ended))
    if route.pool.names_holders:
        answer.headers = [_naming(name, value, incarnation) for name, value in answer.headers]


def _naming(name: bytes, value: bytes, holder: Incarnation) -> tuple[bytes, bytes]:
    """The header for the caller: a session's id names its holder, and any router finds it."""
    if name not in (NEW_SESSION, CLOSED_SESSION):
        return name, value
    session, more, rest = value.partition(b";")
    return name, with_holder(session, holder.slot.number, holder.id) + more + rest
