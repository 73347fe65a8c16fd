"""Which groups a variant serves, and why the name of a file that could be a group answers no call."""

import pytest

from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel
from torpor_endpoint.core.model_choice.served_groups import ServedGroup, ServedGroups, served_groups


def group(*models: str) -> ChoiceGroup:
    return ChoiceGroup("digits", tuple(map(GroupedModel, models)))


def test_a_group_whose_models_are_there_is_served() -> None:
    two = group("a", "b")
    assert served_groups({"digits": two}, {"a", "b"}) == {"digits": ServedGroup(two)}
    assert served_groups({"digits": two}, {"b"}) == {"digits": ServedGroup(two, ("a",))}, "one of them will do"


def test_a_model_with_versions_is_there_by_its_name_and_by_each_version() -> None:
    versions = group("iris", "rose@stable", "oak@7")
    assert served_groups({"digits": versions}, (), ["iris", "rose"])["digits"] == ServedGroup(versions, ("oak@7",))


@pytest.mark.parametrize(
    ("one", "keys", "versioned", "fault"),
    [
        (group("a"), {"a", "digits"}, (), "'digits' is the key of an object and the name of a group: give one of them"),
        (group("a"), {"a"}, ["digits"], "'digits' is a folder of versions and the name of a group: give one of them"),
        (group("a", "other"), {"a"}, (), "its model 'other' is a group: a group holds models alone"),
        (group("a", "b"), {"c"}, (), "none of its models is there: a, b"),
        (group(*"abcdefgh"), (), (), "none of its models is there: a, b, c, d, e, f"),
    ],
)
def test_a_group_that_answers_no_call_says_why(
    one: ChoiceGroup, keys: set[str], versioned: list[str], fault: str
) -> None:
    found = served_groups({"other": "it is no JSON", "digits": one}, keys, versioned)
    assert found["digits"].fault.startswith(fault)
    assert found["digits"].fault.removeprefix(fault) in ("", " another name")
    assert found["other"] == ServedGroup(None, fault="it is no JSON")


def test_groups_are_put_all_at_once_and_known_by_their_names() -> None:
    served = ServedGroups()
    assert (served.names, served.get("digits"), served.changing) == ({}, None, set())
    one = {"digits": ServedGroup(group("a"))}
    assert served.put(one)
    assert not served.put(dict(one)), "it is the same"
    assert (served.names, served.get("digits"), served.get("other")) == (one, one["digits"], None)
    one.clear()
    assert served.get("digits") is not None, "it has a copy"
    assert ServedGroups(served.names).put({})
    first = {"digits": ServedGroup(None)}
    begun = ServedGroups(first)
    first.clear()
    assert begun.get("digits") == ServedGroup(None)
