"""ListModels as real containers answer it."""

import json
from typing import Any

import pytest

from torpor_container.adapter.listed_models import page_of
from torpor_container.image.server_command import ServerCommand


@pytest.mark.parametrize(
    ("document", "names", "token"),
    [
        ({"models": [{"modelName": "a", "modelUrl": "/a"}, {"modelName": "b"}]}, {"a", "b"}, None),
        ({"models": [{"modelName": "a"}], "nextPageToken": "7"}, {"a"}, "7"),
        ({"models": [], "nextPageToken": ""}, set(), None),
        ({"models": None}, set(), None),
        ({"models": [{"modelName": ["x"]}, 7]}, set(), None),
        ({"models": [{}, {"modelName": "a"}]}, {"a"}, None),
        ({"a": {"model_version_status": []}, "b": {}}, {"a", "b"}, None),
        ({}, set(), None),
    ],
)
def test_every_known_shape_is_read(document: Any, names: set[str], token: str | None) -> None:
    assert page_of(json.dumps(document).encode()) == (names, token)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"<html>", b'{"models": 5}'])
def test_a_body_that_is_no_listing_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError):
        page_of(body)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no json", "Expecting value"),
        ("[]", "must be a JSON object"),
        ("{}", "command must be a list of texts"),
        ('{"command": "a b"}', "command must be a list"),
        ('{"command": ["a"], "ready": "/ping"}', "ready must be a list"),
        ('{"command": ["a"], "files": {"/x": ""}}', "must be a path below the temporary folder"),
        ('{"command": ["a"], "environment": {"A": 1}}', "environment must be an object"),
    ],
)
def test_a_bad_command_names_its_member(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ServerCommand.read(text)


def test_places_are_filled_in_everywhere_and_other_braces_stay() -> None:
    text = json.dumps(
        {"command": ["x", "--port={port}"], "files": {"f": "{port} {other}"}, "environment": {"A": "{temp}"}}
    )
    command = ServerCommand.read(text)
    assert command is not None
    filled = command.filled({"port": "80", "temp": "/t"})
    assert filled.arguments == ("x", "--port=80")
    assert (filled.files, filled.environment) == ({"f": "80 {other}"}, {"A": "/t"})
