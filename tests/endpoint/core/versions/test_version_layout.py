"""Which keys below a prefix are versions of a model, and which keys make a name unclear."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.versions.version_layout import VersionLayout

parts = st.sampled_from(["a", "b", "1", "2", "03", "m.tar", "a@1"])
keys = st.lists(parts, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("key", "name", "number"),
    [
        ("iris/3/model.tar.gz", "iris", 3),
        ("company/iris/12/m.tar", "company/iris", 12),
        ("iris/1/2/m.tar", "iris/1", 2),
    ],
)
def test_an_artifact_in_a_folder_with_a_number_is_a_version(key: str, name: str, number: int) -> None:
    layout = VersionLayout([key])
    assert (layout.versions_of(name), layout.fault_of(name)) == ({number: key}, "")
    assert VersionLayout().add(key) == name


@pytest.mark.parametrize(
    "key", ["iris.tar.gz", "iris/model.tar.gz", "iris/03/m.tar", "iris/0/m.tar", "3/m.tar", "iris/3/", "iris/v3/m.tar"]
)
def test_every_other_key_is_plain(key: str) -> None:
    layout = VersionLayout([key])
    assert (list(layout), layout.add(key)) == ([], None)


def test_a_folder_with_several_objects_is_no_version() -> None:
    layout = VersionLayout(["iris/1/m.tar", "iris/2/m.tar", "iris/2/readme.txt"])
    assert ("iris" in layout, "rose" in layout) == (True, False)
    assert list(layout.versions_of("iris")) == [1]
    assert layout.crowded("iris") == [2]
    assert layout.fault_of("iris") == ""
    assert layout.remove("iris/1/m.tar") == "iris"
    assert layout.remove("iris/1/m.tar") is None
    assert "iris/2/ has several objects" in layout.fault_of("iris")


@pytest.mark.parametrize("plain", ["iris", "iris@3", "iris@stable"])
def test_a_key_that_could_be_meant_makes_the_name_unclear_until_it_is_gone(plain: str) -> None:
    layout = VersionLayout([plain, "iris/3/m.tar"])
    assert repr(plain) in layout.fault_of("iris")
    assert layout.remove(plain) == "iris"
    assert layout.fault_of("iris") == ""
    assert layout.add(plain) == "iris"
    assert repr(plain) in layout.fault_of("iris")


def test_a_folder_of_versions_must_not_look_like_a_version_of_another() -> None:
    layout = VersionLayout(["iris/3/m.tar", "iris@3/1/m.tar"])
    assert "could be a version of 'iris'" in layout.fault_of("iris@3")


@given(first=st.lists(keys, max_size=8, unique=True), events=st.lists(st.tuples(keys, st.booleans()), max_size=12))
def test_events_lead_to_the_versions_that_a_listing_finds(first: list[str], events: list[tuple[str, bool]]) -> None:
    layout, present = VersionLayout(first), set(first)
    for key, comes in events:
        (layout.add if comes else layout.remove)(key)
        (present.add if comes else present.discard)(key)
    listed = VersionLayout(sorted(present))
    assert set(layout) == set(listed)
    for name in listed:
        assert layout.versions_of(name) == listed.versions_of(name)
