"""Faces name the versions of models as their protocols do: apart from the name, by a number or a label."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from torpor_account.aws.wire.asgi import ACCESS
from torpor_account.core.access.needs import AccessNeed, AccessPlace, AccessRefused
from torpor_account.s3.access.embedded import NotStored
from torpor_endpoint.core.versions.version_answers import AnsweringVersions, ServedVersions
from torpor_endpoint.faces.choosing_endpoints import NoSuchModel
from torpor_endpoint.faces.finding_models import FaceModels, NoSuchLabel, versioned, versions_of
from torpor_endpoint.faces.finding_targets import Targets

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


class Refusing:
    """A caller who may do nothing, and what policies were asked about."""

    place = AccessPlace("1", "r")

    def __init__(self) -> None:
        self.asked: list[AccessNeed] = []

    def check(self, needs: tuple[AccessNeed, ...]) -> None:
        self.asked += needs
        raise AccessRefused("denied", "")


def asked(model: str, version: str = "", *headers: tuple[bytes, bytes], endpoint: bytes = b"shop") -> list[AccessNeed]:
    variant = SimpleNamespace(multi_model=True)
    pool = SimpleNamespace(variant=variant, versions=ServedVersions({"iris": IRIS}))
    roster: Any = {"shop": SimpleNamespace(name="shop", every_pool=[pool])}
    access = Refusing()
    scope = {"headers": [(b"x-torpor-endpoint", endpoint), *headers], ACCESS: access}
    with pytest.raises(AccessRefused):
        asyncio.run(FaceModels(roster, Targets(None)).found(scope, None, model, version))
    return access.asked


CONTAINER = b"x-amzn-sagemaker-target-container-hostname"


def test_policies_are_asked_about_the_container_that_the_request_names() -> None:
    (need,) = asked("m.tar", "", (CONTAINER, b"second"))
    assert need.keys == {"sagemaker:targetmodel": ("m.tar",), "sagemaker:targetcontainerhostname": ("second",)}
    assert asked("m.tar", "", (CONTAINER, b"a"), (CONTAINER, b"b")) == []


def test_policies_are_asked_about_the_very_key() -> None:
    (need,) = asked("/m.tar")
    assert need.keys == {"sagemaker:targetmodel": ("/m.tar",)}


def test_who_may_not_invoke_an_endpoint_does_not_learn_whether_it_is_there() -> None:
    assert [need.resource for need in asked("m.tar", endpoint=b"none")] == ["arn:aws:sagemaker:r:1:endpoint/none"]


def test_who_may_not_invoke_a_model_does_not_learn_its_versions() -> None:
    assert [need.keys["sagemaker:targetmodel"] for need in [*asked("iris", "9"), *asked("none.tar", "9")]] == [
        ("iris@9",),
        ("none.tar",),
    ]


class Listed:
    """A bucket with these keys."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self.heads: list[str] = []

    def keys(self, bucket: str, prefix: str) -> list[str]:
        raise AssertionError("a name is looked up without a list, however many objects there are")

    def head(self, bucket: str, key: str) -> None:
        self.heads.append(key)
        if key not in self._keys:
            raise NotStored(key)


def of_prefix(prefix: str) -> tuple[Any, ...]:
    container = SimpleNamespace(multi_model=True, model_data_url=f"s3://bucket/{prefix}/")
    return (SimpleNamespace(variant=SimpleNamespace(containers=[container])),)


def test_a_name_is_looked_up_anew_once_its_endpoint_has_other_pools() -> None:
    targets = Targets(Listed("old/iris.tar.gz", "new/iris"))
    live: Any = SimpleNamespace(name="shop", every_pool=of_prefix("old"))
    assert asyncio.run(targets.found(live, "iris")) == targets.known(live, "iris") == "iris.tar.gz"
    again: Any = SimpleNamespace(name="shop", every_pool=of_prefix("new"))
    assert targets.known(again, "iris") is None
    assert asyncio.run(targets.found(again, "iris")) == "iris"


def test_a_name_that_there_is_not_costs_a_few_questions_at_most() -> None:
    bucket = Listed()
    live: Any = SimpleNamespace(name="shop", every_pool=of_prefix("old"))
    assert asyncio.run(Targets(bucket).found(live, "iris")) == "iris"
    assert bucket.heads == ["old/iris", "old/iris.tar.gz", "old/iris.tgz", "old/iris.tar"]
