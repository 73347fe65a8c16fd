from base64 import urlsafe_b64encode
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.account.aws.helpers.hostile_tokens import HOSTILE
from tests.account.aws.helpers.refusals import outcome
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire import tokens
from torpor_account.aws.wire.paging import cut, page
from torpor_account.logs.filter_log_events import _decoded
from torpor_endpoint.services.sagemaker.listing import page as control_page

INVALID = AwsError("InvalidToken")
READERS: dict[str, Callable[[str], object]] = {
    "cloudwatch, log groups and streams": lambda given: cut([], given, 1, INVALID),
    "iam and autoscaling": lambda given: page([], str, given, 1, INVALID),
    "sagemaker": lambda given: control_page([], {"NextToken": given}),
    "log events": _decoded,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("given", HOSTILE, ids=range(len(HOSTILE)))
def test_a_token_that_no_answer_held_is_refused(reader: str, given: str) -> None:
    with pytest.raises(AwsError):
        READERS[reader](given)


@given(st.lists(st.text() | st.integers(0, tokens.NUMBER_MAX) | st.booleans()))
def test_a_written_token_is_read_back(value: list[object]) -> None:
    assert tokens.read(tokens.written(value), INVALID) == value


@given(st.text() | st.binary().map(lambda json: urlsafe_b64encode(json).decode()))
def test_any_other_text_is_invalid_and_nothing_worse(text: str) -> None:
    found = outcome(lambda: tokens.read(text, INVALID))
    assert found is INVALID or isinstance(found, dict | list | str | int | float | None)  # by chance it is JSON


@pytest.mark.parametrize("member", tokens.MEMBERS)
def test_a_token_is_one_of_its_operation_alone(member: str) -> None:
    _, token = cut("ab", None, 1, INVALID)
    given = tokens.named({"Items": ["a"], member: token}, "ListModels")
    assert tokens.unnamed(dict(given), "ListModels") == {"Items": ["a"], member: token}
    elsewhere = tokens.unnamed(dict(given), "ListEndpoints")[member]
    inside = tokens.unnamed({member: token}, "ListEndpoints")[member]
    for reader, other in product(READERS.values(), (elsewhere, inside)):
        with pytest.raises(AwsError):
            reader(other)


@given(st.text(max_size=20) | st.sampled_from(HOSTILE))
def test_what_is_no_token_is_left_to_the_operation(text: str) -> None:
    unread = outcome(lambda: tokens.read(text, INVALID)) is INVALID
    given = tokens.unnamed({"NextToken": text, "Name": "a"}, "ListModels")
    assert given == {"NextToken": text if unread else tokens.NOBODYS, "Name": "a"}
    assert tokens.named({"Items": [], "NextToken": None}, "ListModels") == {"Items": [], "NextToken": None}


def test_pages_by_position_hold_every_item_once_and_in_its_place() -> None:
    items, seen, token = list("hgfedcba"), list[str](), None
    while token or not seen:
        given, token = cut(items, token, 3, INVALID)
        seen.append("".join(given))
    assert seen == ["hgf", "edc", "ba"]
    assert cut(items, None, len(items), INVALID) == (items, None)
