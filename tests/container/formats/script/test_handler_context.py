"""The context of a script, held against Multi Model Server's own, and its headers as that server gives them."""

from inspect import signature
from pathlib import Path

import pytest

from torpor_container.formats.script.handler_context import Context, RequestProcessor

ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"


@pytest.mark.parametrize("ours", [Context, RequestProcessor])
def test_a_script_may_call_everything_that_multi_model_server_has(ours: type) -> None:
    theirs = getattr(pytest.importorskip("mms.context"), ours.__name__)
    calls = [name for name, value in vars(theirs).items() if callable(value) and not name.startswith("_")]
    assert "get_request_header" in calls or "get_request_property" in calls
    for name in calls:
        parameters = signature(getattr(ours, name)).parameters.values()
        needed = signature(getattr(theirs, name)).parameters.values()
        assert [(one.name, one.default) for one in parameters] == [(one.name, one.default) for one in needed]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    context = Context(tmp_path)
    context.begin({"Content-Type": "text/csv", "Accept": "", ATTRIBUTES: "trace=7"})
    return context


def test_all_headers_have_the_names_that_aws_gives_them(context: Context) -> None:
    told = context.get_all_request_header(0)
    assert dict(told) == {"Content-Type": "text/csv", ATTRIBUTES: "trace=7"}
    assert (told[ATTRIBUTES.lower()], context.get_request_header(0, "accept")) == ("trace=7", None)


def test_a_header_that_is_set_in_any_way_is_found(context: Context) -> None:
    context.set_response_header(0, ATTRIBUTES.upper(), "a")
    context.get_response_headers(0).update({"x-own": "b"})
    assert context.request_processor[0].get_response_header(ATTRIBUTES) == "a"
    assert context.request_processor[0].get_response_header("X-Own") == "b"


def test_nothing_of_a_request_is_left_for_the_next(context: Context) -> None:
    context.set_response_header(0, ATTRIBUTES, "a")
    context.begin({})
    assert (context.get_all_request_header(0), context.get_response_headers(0)) == ({}, {})
