"""No two objects have one result, whatever the prefix, and each has its model in one way."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.services.transform.running.inputs import InputUnreadable, check_models, listed, objects

KEYS = st.text("a/.", max_size=6)


@pytest.mark.parametrize(
    ("keys", "prefix", "results"),
    [
        (["in/a.csv", "in/more/b.csv"], "in/", ["out/a.csv.out", "out/more/b.csv.out"]),
        (["in/a.csv", "in/more/b.csv"], "in", ["out/a.csv.out", "out/more/b.csv.out"]),
        (["in/a.csv"], "in/a.csv", ["out/a.csv.out"]),
        (["in/a/ax.csv", "in/ax.csv"], "in/a", ["out/a/ax.csv.out", "out/ax.csv.out"]),
        (["in/", "in//a"], "in/", ["out//a.out"]),
    ],
)
def test_a_result_has_the_objects_part_below_the_prefix(keys: list[str], prefix: str, results: list[str]) -> None:
    assert [one.result for one in objects(keys, "bucket", prefix, "out/")] == results


@given(prefix=KEYS, rests=st.sets(KEYS, max_size=6))
def test_each_object_has_a_result_of_its_own(prefix: str, rests: set[str]) -> None:
    found = objects([f"{prefix}{rest}" for rest in rests], "bucket", prefix, "out/")
    assert len({one.result for one in found}) == len(found)


def manifest(*entries: object) -> bytes:
    return json.dumps([{"prefix": "s3://bucket/in/"}, *entries]).encode()


def test_a_key_that_a_manifest_has_twice_is_one_object() -> None:
    named = {"key": "b", "model": "m"}
    assert [(one.key, one.model) for one in listed(manifest("a", named, "a", named), "out/")] == [
        ("in/a", ""),
        ("in/b", "m"),
    ]


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        (({"key": "a", "model": "m"}, {"key": "a", "model": "n"}), "two models for in/a"),
        (({"key": "a", "model": "m\r\nX: 1"},), "no model can be called"),
        (({"key": "a", "model": "\ud800"},), "no model can be called"),
        (({"key": "a", "model": "tenant-a/../tenant-b/m"},), "no model can be called"),
        (({"key": "a", "model": "tenant-b/m "},), "no model can be called"),
        (("\ud800",), "a key with a character that cannot be printed"),
        ((7,), "neither a key nor a key with a model"),
    ],
)
def test_a_manifest_that_cannot_be_meant_is_refused(entries: tuple[object, ...], why: str) -> None:
    with pytest.raises(InputUnreadable, match=why):
        listed(manifest(*entries), "out/")


def test_a_manifest_of_brackets_alone_is_refused() -> None:
    with pytest.raises(InputUnreadable, match="no list of a prefix"):
        listed(b"[" * 100_000, "out/")


@pytest.mark.parametrize(
    ("model", "multi_model", "by_record", "why"),
    [
        ("m", True, True, "one for each record"),
        ("m", False, False, "is not MultiModel"),
        ("", True, False, "names no model for in/a"),
        ("m", True, False, None),
        ("", True, True, None),
        ("", False, False, None),
    ],
)
def test_each_object_has_its_model_in_one_way(model: str, multi_model: bool, by_record: bool, why: str | None) -> None:
    found = listed(manifest({"key": "a", "model": model}), "out/")
    if why is None:
        check_models(found, multi_model, by_record)
    else:
        with pytest.raises(InputUnreadable, match=why):
            check_models(found, multi_model, by_record)
