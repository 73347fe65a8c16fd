"""Which keys may be read in place as files."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.artifacts.object_keys import ordinary

ODD = ("", ".", "..", "/", "/a", "a/", "a//b", "a/./b", "a/../b", "../a", "n\0ul", "new\nline", "tab\t", "\x7f")
RESERVED = (".torpor", ".torpor/index.sqlite", "\udcff", "a" * 256, "a/" + "é" * 128, "/".join(["abc"] * 300))


@pytest.mark.parametrize("key", [*ODD, *RESERVED])
def test_a_key_that_is_no_plain_path_is_not_ordinary(key: str) -> None:
    assert not ordinary(key)


@pytest.mark.parametrize("key", ["a", "a/b.tar.gz", ".hidden", "a/.torpor", ".torpor2", "é ü+%25?", "a" * 255, "..."])
def test_a_plain_path_is_ordinary(key: str) -> None:
    assert ordinary(key)


@given(st.lists(st.sampled_from(["a", ".", "..", "", ".torpor", "b\n", "c d", "é"]), min_size=1).map("/".join))
def test_an_ordinary_key_never_leaves_its_folder(key: str) -> None:
    inside = os.path.normpath("/root/bucket/" + key) == "/root/bucket/" + key
    assert not ordinary(key) or inside
