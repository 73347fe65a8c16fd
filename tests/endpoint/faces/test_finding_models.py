"""Faces name the versions of models as their protocols do: apart from the name, by a number or a label."""

from types import SimpleNamespace
from typing import Any

import pytest

from torpor_endpoint.core.versions.version_answers import AnsweringVersions, ServedVersions
from torpor_endpoint.faces.choosing_endpoints import NoSuchModel
from torpor_endpoint.faces.finding_models import NoSuchLabel, versioned, versions_of

IRIS = AnsweringVersions({3: "iris/3/model.tar.gz", 7: "iris/7/model.tar.gz"}, 7, {"stable": 3})


@pytest.fixture
def live() -> Any:
    return SimpleNamespace(every_pool=[SimpleNamespace(versions=None), SimpleNamespace(versions=ServedVersions({"iris": IRIS}))])  # fmt: skip  # noqa: E501


@pytest.mark.parametrize(
    ("version", "target"), [("", "iris"), ("7", "iris@7"), ("stable", "iris@stable"), ("default", "iris@default")]
)
def test_a_version_that_answers_is_a_target(live: Any, version: str, target: str) -> None:
    assert versioned(live, "iris", version) == target


def test_a_model_without_versions_has_one(live: Any) -> None:
    assert versioned(live, "plain", "") is versioned(live, "plain", "1") is None
    assert (versions_of(live, "plain"), versions_of(live, "iris")) == (["1"], ["3", "7"])


@pytest.mark.parametrize(("model", "version"), [("plain", "2"), ("iris", "1"), ("iris", "8")])
def test_another_version_is_no_model(live: Any, model: str, version: str) -> None:
    with pytest.raises(NoSuchModel, match=f"{model} with version {version}"):
        versioned(live, model, version)


@pytest.mark.parametrize("model", ["plain", "iris"])
def test_another_label_is_none(live: Any, model: str) -> None:
    with pytest.raises(NoSuchLabel, match="canary"):
        versioned(live, model, "canary")
