"""The holder of a session in the session's id."""

import re

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.routing.session_names import LENGTH_MAX, NamedHolder, mark_of, with_holder, without_holder

AWSS = re.compile(rb"[a-zA-Z0-9](-*[a-zA-Z0-9])*")
SESSIONS = st.from_regex(AWSS, fullmatch=True)


@given(SESSIONS, st.integers(0, 65_535), st.text(min_size=1))
def test_an_id_with_its_holder_is_one_for_aws_and_leads_back_to_both(session: bytes, slot: int, life: str) -> None:
    named = with_holder(session, slot, life)
    assert AWSS.fullmatch(named)
    assert len(named) <= max(LENGTH_MAX, len(session))
    has_room = len(session) + len(f"-torpor-{slot}-") + 16 <= LENGTH_MAX
    assert without_holder(named) == (session, NamedHolder(slot, mark_of(life)) if has_room else None)


@given(st.from_regex(r"[a-zA-Z0-9]{231,256}", fullmatch=True).map(str.encode))
def test_an_id_without_room_stays_as_it_is(session: bytes) -> None:
    assert with_holder(session, 0, "i-1") == session


def test_an_id_may_be_as_long_as_aws_allows_with_its_holder() -> None:
    longest = b"a" * (LENGTH_MAX - len(with_holder(b"", 7, "i-1")))
    assert len(with_holder(longest, 7, "i-1")) == LENGTH_MAX
    assert with_holder(longest + b"a", 7, "i-1") == longest + b"a"


def test_an_id_names_its_holder_behind_the_models_own() -> None:
    assert with_holder(b"abc", 3, "i-1") == b"abc-torpor-3-" + mark_of("i-1")


def test_an_id_that_names_no_holder_is_the_models_own() -> None:
    assert without_holder(b"abc-torpor-1-xyz") == (b"abc-torpor-1-xyz", None)
