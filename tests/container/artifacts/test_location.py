"""Targets stay below their prefix."""

import posixpath
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.artifacts.errors import TargetForbidden
from torpor_container.artifacts.location import Location, Prefix, artifact_id, name_of
from torpor_container.wire import Fault

HOUSES = Prefix.parse("s3://bucket/models/houses/")


@pytest.mark.parametrize(
    ("target", "key"),
    [
        ("Houston_TX.tar.gz", "models/houses/Houston_TX.tar.gz"),
        ("/sam.tar.gz", "models/houses/sam.tar.gz"),
        ("company_a/x.tar.gz", "models/houses/company_a/x.tar.gz"),
        ("ModelA", "models/houses/ModelA"),
        ("..a/b..", "models/houses/..a/b.."),
        ("a%2f..%2fb", "models/houses/a%2f..%2fb"),
        ("two words", "models/houses/two words"),
        ("a+b%20c", "models/houses/a+b%20c"),
        ("out//job.tar.gz", "models/houses/out//job.tar.gz"),
        ("//sam.tar.gz", "models/houses//sam.tar.gz"),
        ("folder/", "models/houses/folder/"),
        ("e\u0301", "models/houses/e\u0301"),
    ],
)
def test_a_target_is_joined_to_the_prefix_by_one_slash(target: str, key: str) -> None:
    assert HOUSES.key_of(name_of(target)) == key


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("", "is empty"),
        ("x" * 1025, "longer than 1024"),
        (" x", "white space"),
        ("a\nb", "cannot be printed"),
        ("a\0b", "cannot be printed"),
        ("\udcff", "cannot be printed"),
        ("..", "'.' or '..'"),
        ("company_a/../company_b/x", "'.' or '..'"),
        ("./x", "'.' or '..'"),
        ("/", "is empty"),
        ("a//../b", "'.' or '..'"),
        ("/../b", "'.' or '..'"),
        ("x" * 1020, "longer than 1024"),
    ],
)
def test_the_refusal_of_a_target_names_the_broken_rule(target: str, rule: str) -> None:
    with pytest.raises(TargetForbidden, match=rule) as refused:
        HOUSES.key_of(name_of(target))
    assert refused.value.fault is Fault.TARGET_FORBIDDEN


@given(
    st.text(max_size=40) | st.text("./a ", max_size=12),
    st.sampled_from(["s3://b", "s3://b/p", "s3://b/p/q/", "s3://b//p", "s3://b/p//"]),
)
def test_no_target_leaves_its_prefix(target: str, url: str) -> None:
    prefix = Prefix.parse(url)
    try:
        key = prefix.key_of(name_of(target))
    except TargetForbidden:
        return
    assert key == prefix.folder + target.removeprefix("/")
    assert prefix.name_of_key(key) == name_of(target)
    assert posixpath.normpath(f"/bucket/{key}").startswith(posixpath.normpath(f"/bucket/{prefix.folder}"))


def test_a_prefix_ends_at_a_slash() -> None:
    assert Prefix.parse("s3://bucket/mod").name_of_key("models/x") is None
    assert Prefix.parse("s3://bucket/mod").key_of("els/x") == "mod/els/x"


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        ("s3://bucket", Prefix("s3", "bucket", "")),
        ("s3://bucket/", Prefix("s3", "bucket", "")),
        ("s3://bucket/a/b/", Prefix("s3", "bucket", "a/b/")),
        ("s3://bucket/a/b", Prefix("s3", "bucket", "a/b/")),
        ("s3://bucket//", Prefix("s3", "bucket", "/")),
        ("s3://bucket//a//b/", Prefix("s3", "bucket", "/a//b/")),
        ("file:///srv/models/", Prefix("file", "/srv/models", "")),
        ("/srv/models", Prefix("file", "/srv/models", "")),
    ],
)
def test_a_prefix_is_read_from_its_url(url: str, prefix: Prefix) -> None:
    assert Prefix.parse(url) == prefix


@pytest.mark.parametrize("url", ["", "bucket/x", "s3://", "s3:///x", "https://b/x", "file://host/x", "s3://b/a/../c"])
def test_a_url_that_is_no_prefix_is_refused_by_name(url: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(url))):
        Prefix.parse(url)


def test_the_key_of_a_single_object_is_taken_literally() -> None:
    assert Location.parse("s3://bucket//out//job/model.tar.gz") == Location("s3", "bucket", "/out//job/model.tar.gz")


def test_an_artifacts_id_is_stable_hex_and_changes_with_each_part() -> None:
    ids = {artifact_id(*parts) for parts in [("b", "k", "v"), ("b", "k", "w"), ("b", "kv", ""), ("bk", "", "v")]}
    assert len(ids) == 4
    assert artifact_id("b", "k", "v") == "8688fd7bd7c3911a2d00ecc53a80c3aa"
    assert all(len(name) == 32 and int(name, 16) for name in ids)
