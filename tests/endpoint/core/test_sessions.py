"""Which instance holds a session: as answers told, and never more of them than the bound."""

from torpor_endpoint.core.sessions import SessionHolder, SessionKey, StatefulSessions

FIRST, SECOND = SessionHolder(0, "i-1"), SessionHolder(1, "i-2")


def key(session: bytes, model: str | None = None) -> SessionKey:
    return SessionKey(model, session)


def test_a_session_is_held_until_it_ends() -> None:
    sessions = StatefulSessions()
    assert sessions.holder(key(b"s")) is None
    sessions.began(key(b"s"), FIRST)
    assert sessions.holder(key(b"s")) == FIRST
    sessions.ended(key(b"s"))
    sessions.ended(key(b"s"))
    assert sessions.holder(key(b"s")) is None


def test_equal_ids_of_two_models_are_two_sessions() -> None:
    sessions = StatefulSessions()
    sessions.began(key(b"s", "a"), FIRST)
    sessions.began(key(b"s", "b"), SECOND)
    assert (sessions.holder(key(b"s", "a")), sessions.holder(key(b"s", "b"))) == (FIRST, SECOND)


def test_the_session_that_was_used_longest_ago_is_forgotten_first() -> None:
    sessions = StatefulSessions(most=2)
    sessions.began(key(b"old"), FIRST)
    sessions.began(key(b"older"), FIRST)
    sessions.holder(key(b"old"))
    sessions.began(key(b"new"), SECOND)
    assert len(sessions) == 2
    assert (sessions.holder(key(b"older")), sessions.holder(key(b"old"))) == (None, FIRST)


def test_a_session_that_begins_anew_has_its_new_holder() -> None:
    sessions = StatefulSessions(most=1)
    sessions.began(key(b"s"), FIRST)
    sessions.began(key(b"s"), SECOND)
    assert sessions.holder(key(b"s")) == SECOND


def test_a_session_that_begins_anew_counts_as_used() -> None:
    sessions = StatefulSessions(most=2)
    for session in (b"a", b"b", b"a", b"c"):
        sessions.began(key(session), FIRST)
    assert [sessions.holder(key(session)) for session in (b"a", b"b", b"c")] == [FIRST, None, FIRST]
