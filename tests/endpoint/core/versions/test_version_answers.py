"""Which object answers a target that names a model with versions."""

import pytest

from torpor_endpoint.core.versions.version_answers import (
    LABEL,
    AnsweringVersions,
    NoSuchVersion,
    ServedVersions,
    target_for,
)

IRIS = AnsweringVersions({3: "iris/3/m.tar", 7: "iris/7/m.tar"}, default=7, labels={"stable": 3})
SERVED = ServedVersions({"iris": IRIS, "odd": AnsweringVersions({}, fault="it is unclear")})


@pytest.mark.parametrize(
    ("target", "key"),
    [
        ("iris", "iris/7/m.tar"),
        ("iris@3", "iris/3/m.tar"),
        ("iris@stable", "iris/3/m.tar"),
        ("iris@default", "iris/7/m.tar"),
        ("plain.tar", "plain.tar"),
        ("user@3", "user@3"),
        ("iris/3/m.tar", "iris/3/m.tar"),
        ("iris.tar@3", "iris.tar@3"),
    ],
)
def test_a_target_names_a_version_a_label_neither_or_a_key(target: str, key: str) -> None:
    assert SERVED.resolved(target) == key


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("iris@4", "model iris has no version 4; versions that may answer: 3, 7."),
        ("iris@canary", "model iris has no label canary; labels: stable; versions that may answer: 3, 7."),
        ("iris@03", "model iris has no label 03"),
        ("iris@", "model iris has no label ;"),
        ("odd", "it is unclear."),
        ("odd@1", "it is unclear."),
    ],
)
def test_what_names_no_version_is_refused_with_what_there_is(target: str, why: str) -> None:
    with pytest.raises(NoSuchVersion) as refused:
        SERVED.resolved(target)
    assert str(refused.value).startswith(f"TargetModel {target}: ")
    assert why in str(refused.value)


def test_a_name_without_a_default_answers_no_call_without_a_version() -> None:
    served = ServedVersions({"iris": AnsweringVersions({3: "iris/3/m.tar"})})
    with pytest.raises(NoSuchVersion, match="no version of model iris answers calls without a version"):
        served.resolved("iris")
    assert served.resolved("iris@3") == "iris/3/m.tar"


@pytest.mark.parametrize(("count", "shown"), [(12, "1, 2"), (13, "2, 3")])
def test_a_refusal_shows_the_twelve_newest_versions(count: int, shown: str) -> None:
    versions = AnsweringVersions({number: f"iris/{number}/m.tar" for number in range(1, count + 1)})
    with pytest.raises(NoSuchVersion) as refused:
        ServedVersions({"iris": versions}).resolved("iris@20")
    there = f"versions that may answer: {shown}"
    assert there in str(refused.value)
    assert str(refused.value).endswith(f"{count}; the newest are shown." if count > 12 else f", {count}.")


def test_a_refusal_says_that_there_is_no_version_and_no_label() -> None:
    with pytest.raises(NoSuchVersion) as refused:
        ServedVersions({"iris": AnsweringVersions({})}).resolved("iris@stable")
    assert str(refused.value).endswith("has no label stable; labels: none; versions that may answer: none.")


def test_the_versions_of_a_name_are_put_and_taken_away() -> None:
    served = ServedVersions()
    assert served.put("iris", IRIS)
    assert not served.put("iris", IRIS), "it has them already"
    assert served.names == {"iris": IRIS}
    assert served.resolved("iris") == "iris/7/m.tar"
    assert served.put("iris", None)
    assert not served.put("iris", None)
    assert (served.names, served.resolved("iris")) == ({}, "iris")


@pytest.mark.parametrize(
    ("text", "is_one"), [("a", True), ("A-_9", True), ("9a", False), ("a" * 63, True), ("a" * 64, False)]
)
def test_a_label_begins_with_a_letter_and_is_a_word(text: str, is_one: bool) -> None:
    assert bool(LABEL.fullmatch(text)) is is_one


@pytest.mark.parametrize("version", [None, 3, "stable"])
def test_other_faces_make_the_target_and_find_the_version_of_what_answered(version: int | str | None) -> None:
    key = SERVED.resolved(target_for("iris", version))
    found = SERVED.version_of(key)
    assert found is not None
    assert IRIS.artifacts[found[1]] == key


def test_an_empty_version_is_none() -> None:
    assert (target_for("iris", ""), target_for("iris", "X")) == ("iris", "iris@X")


@pytest.mark.parametrize(
    "key", ["plain.tar", "iris/4/m.tar", "iris/3/other.tar", "rose/3/m.tar", "3/m.tar", "iris/v3/m.tar"]
)
def test_a_key_that_is_no_version_s_artifact_has_no_version(key: str) -> None:
    assert SERVED.version_of(key) is None
