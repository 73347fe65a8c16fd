"""The shell completes names of endpoints and models from the endpoint that runs, and is silent where none does."""

import pytest
from typer.testing import CliRunner

import torpor
from tests.sdk.helpers.small_models import CITIES
from torpor.cli import app
from torpor.hosting.shared_process import SharedProcess


def completed(words: str, url: str) -> list[str]:
    """What bash offers for the last word of the line."""
    asked = {"_TORPOR_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = CliRunner().invoke(app, env={**asked, "AWS_ENDPOINT_URL": url}, prog_name="torpor")
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("words", ["torpor logs sh", "torpor why model sh", "torpor undeploy sh", "torpor top sh"])
def test_names_of_endpoints_are_completed(endpoint: torpor.Local, words: str) -> None:
    assert completed(words, endpoint.url) == ["shared"]


def test_models_are_completed_whether_in_memory_or_not(endpoint: torpor.Local) -> None:
    assert set(CITIES) <= set(completed("torpor why ", endpoint.url))
    assert set(CITIES) <= set(completed("torpor invoke shared --target-model ", endpoint.url))
    assert completed(f"torpor reload {CITIES[5][:5]}", endpoint.url) == [CITIES[5]]


def test_models_are_those_of_the_endpoint_that_the_line_names(shared: SharedProcess, endpoint: torpor.Local) -> None:
    with shared.local(name="empty") as empty:
        assert completed("torpor invoke empty --target-model ", empty.url) == []
        assert CITIES[0] in completed("torpor invoke shared --target-model ", empty.url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nonsense", "http://["])
def test_without_an_endpoint_nothing_is_completed_or_said(url: str) -> None:
    assert completed("torpor logs ", url) == []
    assert completed("torpor why ", url) == []


def test_commands_are_completed_without_an_endpoint() -> None:
    assert completed("torpor cold", "nonsense") == ["cold-starts"]
