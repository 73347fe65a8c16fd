"""The rows of a service's table of errors make its errors."""

import pytest

from torpor_account.aws.errors import ErrorKind, error_kinds
from torpor_account.logs import errors as logs
from torpor_endpoint.services.autoscaling import errors as autoscaling

GONE = ErrorKind("gone", "NoSuchThing", 404, "There is no {noun} {name}.", {"thing": "{name}"})
INVALID = ErrorKind("invalid", "ValidationError", 400)


def test_a_row_fills_the_places_of_its_text_and_of_its_members() -> None:
    error = GONE(noun="role", name="{odd}")
    assert (error.code, error.status, error.message) == ("NoSuchThing", 404, "There is no role {odd}.")
    assert error.members == {"thing": "{odd}"}


def test_a_row_without_a_text_takes_it_whole() -> None:
    assert INVALID("Period {must} be 60.").message == "Period {must} be 60."


def test_a_placeholder_without_a_value_raises_a_key_error() -> None:
    with pytest.raises(KeyError, match="name"):
        GONE(noun="role")


def test_a_table_is_its_module_s_rows_in_their_order() -> None:
    assert error_kinds(logs)[:2] == [logs.NO_GROUP, logs.NO_STREAM]
    assert autoscaling.TAGS(arn="arn:x").members == {"ResourceName": "arn:x"}
