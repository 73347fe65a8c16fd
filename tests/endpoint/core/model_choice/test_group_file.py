"""The file of a group: what it may hold, and what is refused by the name of its field."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.model_choice.group_file import BadGroupFile, group_name, read_group
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel, ModelTier

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_a_group_is_read_with_a_price_for_all_its_models_or_for_one() -> None:
    text = """{"usd_per_hour": 0.115, "measured": {"on": "ml.m5.large"}, "models": {
        "a": {"accuracy": 0.9, "latency_ms": {"32": 4.5, "1": 1}, "load_ms": {"s3": 80}, "size_bytes": 7},
        "/b": {"usd_per_hour": 0.5}}}"""
    assert read_group("digits", text.encode()) == ChoiceGroup(
        "digits",
        (
            GroupedModel("a", 0.9, ((1, 1.0), (32, 4.5)), {ModelTier.S3: 80.0}, 7, 0.115),
            GroupedModel("b", usd_per_hour=0.5),
        ),
    )


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([], "the file must be a JSON object"),
        ({}, "models must be a JSON object"),
        ({"models": {}}, "models has 0 models"),
        ({"models": {"a": {}}, "model": 1}, "model is not known: models, usd_per_hour, measured are"),
        ({"models": {"a": {"acuracy": 1}}}, "models['a'].acuracy is not known"),
        ({"models": {"a": {"accuracy": 1.2}}}, "models['a'].accuracy is 1.2: it must be a number, from 0 to 1"),
        ({"models": {"a": {"accuracy": True}}}, "models['a'].accuracy is True"),
        ({"models": {"a": {"accuracy": None}}}, "models['a'].accuracy is None"),
        ({"models": {"a": {"latency_ms": {"0": 1}}}}, "models['a'].latency_ms has the key '0'"),
        ({"models": {"a": {"latency_ms": {"1": -1}}}}, "models['a'].latency_ms.1 is -1"),
        ({"models": {"a": {"latency_ms": 3}}}, "models['a'].latency_ms must be a JSON object"),
        (
            {"models": {"a": {"load_ms": {"memory": 1}}}},
            "models['a'].load_ms.memory is not known: disk, s3, asleep are",
        ),
        ({"models": {"a": {"size_bytes": 1.5}}}, "models['a'].size_bytes is 1.5"),
        ({"models": {"a": {"size_bytes": -1}}}, "models['a'].size_bytes is -1"),
        ({"models": {"a": {"usd_per_hour": 10**15 + 1}}}, "models['a'].usd_per_hour is 1000000000000001"),
        ({"models": {"a": {"latency_ms": {"1000000000": 1}}}}, "models['a'].latency_ms has the key '1000000000'"),
        (
            {"models": {"a": {"latency_ms": dict.fromkeys(map(str, range(1, 66)), 1)}}},
            "models['a'].latency_ms has 65 numbers of rows: at most 64",
        ),
        ({"models": {f"m{number}": {} for number in range(257)}}, "models has 257 models: it must have 1 to 256"),
        ({"models": {"../a": {}}}, "models['../a'] names no model"),
        ({"models": {"a": {}, "/a": {}}}, "models names a model twice"),
        ({"models": {"a": {}}, "usd_per_hour": float("inf")}, "usd_per_hour is inf"),
        ({"models": {"a": {"usd_per_hour": 1}, "b": {}}}, "models['b'] has no usd_per_hour, and others have one"),
    ],
)
def test_a_file_that_is_no_group_is_refused_by_its_field(values: Any, told: str) -> None:
    with pytest.raises(BadGroupFile) as error:
        read_group("digits", json.dumps(values).encode())
    assert str(error.value).startswith(told)


def test_the_least_and_the_most_of_each_field_are_read() -> None:
    least = {"accuracy": 0, "latency_ms": {"1": 0}, "load_ms": {"disk": 0}, "size_bytes": 0, "usd_per_hour": 0}
    points = dict.fromkeys([*map(str, range(1, 64)), "999999999"], 1)
    most = {"accuracy": 1, "latency_ms": points, "usd_per_hour": 10**15}
    found = read_group("digits", json.dumps({"models": {"a": least, "b": most}}).encode()).models
    assert found[0] == GroupedModel("a", 0.0, ((1, 0.0),), {ModelTier.DISK: 0.0}, 0, 0.0)
    assert (found[1].accuracy, len(found[1].latency_ms), found[1].usd_per_hour) == (1.0, 64, 1e15)
    many = read_group("digits", json.dumps({"models": {f"m{number}": {} for number in range(256)}}).encode())
    assert many.models == tuple(GroupedModel(f"m{number}") for number in range(256))


def test_a_file_of_more_than_a_mebibyte_is_not_read() -> None:
    whole = b'{"models": {"a": {}}}'.ljust(1 << 20)
    assert read_group("digits", whole).models == (GroupedModel("a"),)
    with pytest.raises(BadGroupFile, match=r"^it has 1048577 bytes: at most 1048576 are read$"):
        read_group("digits", whole + b" ")


def test_a_model_that_is_there_twice_is_refused_and_no_text_of_json_too() -> None:
    with pytest.raises(BadGroupFile, match=r"^'a' is there twice: keep one of them$"):
        read_group("digits", b'{"models": {"b": {}, "a": {}, "a": {}}}')
    for text in (b"", b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(BadGroupFile, match="it is no JSON"):
            read_group("digits", text)


@given(st.dictionaries(st.sampled_from(["models", "usd_per_hour", "measured"]), json_values))
def test_any_json_is_a_group_or_is_refused(values: Any) -> None:
    with suppress(BadGroupFile):
        assert read_group("digits", json.dumps(values).encode()).models


def test_the_name_of_a_group_is_its_key_without_the_ending() -> None:
    keys = ("digits.group.json", "shop/digits.group.json", ".group.json", "shop/.group.json", "digits.json", "a/b")
    assert [group_name(key) for key in keys] == ["digits", "shop/digits", None, None, None, None]
