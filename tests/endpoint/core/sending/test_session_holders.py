"""Which instance holds a session, as its id names it or as the router remembers, and what callers see of its id."""

import pytest

from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.routing.ready_slots import PlacedInstance
from torpor_endpoint.core.routing.session_names import with_holder
from torpor_endpoint.core.sending.session_holders import (
    CLOSED_SESSION,
    NEW_SESSION,
    holder_in,
    knows_session,
    note_session,
)
from torpor_endpoint.core.sessions import SessionHolder, SessionKey, StatefulSessions


class Instance(PlacedInstance):
    def __init__(self, slot: int, incarnation: str) -> None:
        self.in_flight = 0
        self.place = SessionHolder(slot, incarnation)


class Instances:
    """Two instances of a variant, and their sessions."""

    def __init__(self, *, names_holders: bool = False) -> None:
        self.ready: Placement[Instance] = Placement()
        self.sessions = StatefulSessions()
        self.names_holders = names_holders
        self.all = [Instance(slot, f"i-{slot}") for slot in range(2)]
        for one in self.all:
            self.ready.offer(one.place.slot, one)

    def holder(self, instance: Instance) -> SessionHolder:
        return instance.place


def began(session: bytes = b"s; Expires=2026-11-30T12:00:00Z") -> UpstreamAnswer:
    return UpstreamAnswer(200, [(NEW_SESSION, session), (b"content-type", b"text/csv")], alike=b"lines")


def ended(session: bytes = b"s") -> UpstreamAnswer:
    return UpstreamAnswer(200, [(CLOSED_SESSION, session)])


def test_a_router_remembers_who_holds_a_session_from_its_begin_to_its_end() -> None:
    pool = Instances()
    first, second = pool.all
    assert not knows_session(pool, "a", b"s")
    answer = began()
    note_session(pool, "a", second, answer)
    assert (answer, holder_in(pool, "a", b"s")) == (began(), second), "one router leaves the id as it is"
    assert knows_session(pool, "a", b"s")
    assert (knows_session(pool, "b", b"s"), holder_in(pool, "b", b"s")) == (False, None), "it is another model's"
    note_session(pool, "a", first, ended(b"other"))
    assert holder_in(pool, "a", b"s") is second
    note_session(pool, "a", second, ended())
    assert (knows_session(pool, "a", b"s"), holder_in(pool, "a", b"s")) == (False, None)


def test_an_answer_without_a_session_changes_nothing() -> None:
    pool = Instances(names_holders=True)
    answer = UpstreamAnswer(200, [(b"content-type", b"text/csv")])
    note_session(pool, "a", pool.all[0], answer)
    assert (len(pool.sessions), answer.headers) == (0, [(b"content-type", b"text/csv")])


@pytest.mark.parametrize("named", [False, True])
def test_a_session_is_known_but_held_by_nobody_while_its_instance_is_away(named: bool) -> None:
    pool = Instances()
    session = with_holder(b"s", 1, "i-1") if named else b"s"
    pool.sessions.began(SessionKey("a", b"s"), SessionHolder(1, "i-1"))
    assert holder_in(pool, "a", session) is pool.all[1]
    pool.ready.withdraw(1)
    assert holder_in(pool, "a", session) is None
    pool.ready.offer(1, Instance(1, "i-later"))
    assert holder_in(pool, "a", session) is None, "a later incarnation has none of its sessions"
    assert knows_session(pool, "a", session) is not named, "any router knows what is named by what it sees"


def test_an_id_that_names_its_holder_leads_any_router_to_it() -> None:
    pool = Instances()
    assert holder_in(pool, "a", with_holder(b"s", 0, "i-0")) is pool.all[0]
    assert knows_session(pool, "a", with_holder(b"s", 0, "i-0"))
    assert not knows_session(pool, "a", with_holder(b"s", 0, "i-1")), "the slot has another incarnation"
    assert not knows_session(pool, "a", with_holder(b"s", 7, "i-7")), "there is no such slot"


def test_a_router_of_several_names_the_holder_to_the_caller() -> None:
    pool = Instances(names_holders=True)
    answer = began()
    note_session(pool, "a", pool.all[1], answer)
    named = with_holder(b"s", 1, "i-1")
    assert answer.headers == [(NEW_SESSION, named + b"; Expires=2026-11-30T12:00:00Z"), (b"content-type", b"text/csv")]
    assert answer.alike == b"", "its lines are no longer those of its headers"
    closed = ended()
    note_session(pool, "a", pool.all[1], closed)
    assert closed.headers == [(CLOSED_SESSION, named)]
    assert len(pool.sessions) == 0
