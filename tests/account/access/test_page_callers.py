"""What programs read that are refused one of Torpor's own pages."""

import pytest

from torpor_account.access.page_callers import refused_in_text
from torpor_account.access.problems import NotAuthentic, database_away, expired_token, nobody_signed, unknown_key
from torpor_account.aws.errors import DATABASE_AWAY
from torpor_endpoint.access.page_rights import ROUTERS_PAGES


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (unknown_key(), "The security token included in the request is invalid."),
        (expired_token(), "The security token included in the request is expired."),
        (nobody_signed(), "Missing Authentication Token."),
    ],
)
def test_a_refusal_is_two_sentences_of_one_full_stop_each(refused: NotAuthentic, said: str) -> None:
    scope = {"type": "http", "path": "/_torpor/endpoints", "headers": []}
    advice = "Sign the request, or give an access key and its secret as user and password."
    assert refused_in_text(refused, scope).body == f"{said} {advice}\n".encode()


def test_a_database_that_is_away_is_no_fault_of_the_caller() -> None:
    page = {"type": "http", "path": "/_torpor/endpoints", "headers": []}
    answer = refused_in_text(database_away(), page)
    assert (answer.status, answer.body) == (500, f"{DATABASE_AWAY}\n".encode())
    assert "www-authenticate" not in answer.headers


def test_a_router_is_told_which_right_its_key_needs() -> None:
    scope = {"type": "http", "path": "/_torpor/routers/hello", "headers": []}
    said = refused_in_text(nobody_signed(), scope, ROUTERS_PAGES.advice).body
    assert b"access key that has the right torpor:Route." in said
