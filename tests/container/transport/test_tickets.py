"""A ticket is for one incarnation, one model and a short time."""

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.transport.tickets import LASTS_S, admits, ticket_for

SECRETS, MODELS = st.binary(min_size=32, max_size=32), st.binary(max_size=40)
NOW_S = 1_700_000_000.0


@given(SECRETS, MODELS, st.integers(-10_000, LASTS_S))
def test_a_ticket_lets_its_model_in_until_it_is_old(secret: bytes, model: bytes, later_s: int) -> None:
    assert admits(secret, model, ticket_for(secret, model, NOW_S), NOW_S + later_s)
    assert not admits(secret, model, ticket_for(secret, model, NOW_S), NOW_S + LASTS_S + 1)


@given(SECRETS, SECRETS, MODELS, MODELS)
def test_no_ticket_opens_another_instance_or_another_model(one: bytes, two: bytes, model: bytes, other: bytes) -> None:
    ticket = ticket_for(one, model, NOW_S)
    assert admits(two, model, ticket, NOW_S) == (one == two)
    assert admits(one, other, ticket, NOW_S) == (model == other)


@given(SECRETS, st.binary(max_size=90))
def test_what_is_no_ticket_lets_nobody_in(secret: bytes, text: bytes) -> None:
    assert not admits(secret, b"m", text, NOW_S)
    later = ticket_for(secret, b"m", NOW_S).replace(b"17", b"18", 1)
    assert not admits(secret, b"m", later, NOW_S)
