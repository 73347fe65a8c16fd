"""With --json, each report prints its documented keys and nothing else on standard output."""

import json

import pytest
from typer.testing import CliRunner

import torpor
from tests.sdk.helpers.json_paths import undocumented
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.cli import app

ARGUMENTS = {
    "ls": (),
    "why": (CITIES[1], "shared"),
    "cold-starts": ("shared",),
    "costs": ("shared",),
    "metrics": ("shared", "--minutes", "5"),
}


@pytest.mark.parametrize("command", ARGUMENTS)
def test_json_has_the_documented_keys(endpoint: torpor.Local, command: str) -> None:
    endpoint.invoke(CITIES[1], ROWS)
    done = CliRunner().invoke(app, [command, *ARGUMENTS[command], "--json", "--url", endpoint.url])
    assert (done.exit_code, done.stderr) == (0, "")
    output = json.loads(done.stdout)
    assert undocumented(command, output) == set()
    assert all(value or value is False for value in output.values())


def test_the_json_of_why_has_decisions_and_memory(endpoint: torpor.Local) -> None:
    endpoint.invoke(CITIES[1], ROWS)
    done = CliRunner().invoke(app, ["why", CITIES[1], "--json", "--url", endpoint.url])
    [story] = [one for one in json.loads(done.stdout)["stories"] if one["endpoint"] == "shared"]
    assert "loaded" in [one["action"] for one in story["decisions"]]
    assert [one["name"] for one in story["in_memory"]] == [CITIES[1]]


@pytest.mark.parametrize("command", ["why", "reload", "unload"])
def test_a_model_that_is_not_there_is_refused_with_the_nearest(endpoint: torpor.Local, command: str) -> None:
    done = CliRunner().invoke(app, [command, CITIES[0].removesuffix(".tar.gz"), "shared", "--url", endpoint.url])
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"it has {CITIES[0]}" in done.stderr
