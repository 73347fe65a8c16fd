"""Which versions a policy lets answer."""

import pytest

from torpor_container.core.versions.version_policies import VersionPolicy, version_policy


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("latest", {9}),
        ("latest:2", {9, 7}),
        ("all", {1, 7, 9}),
        ("specific:1,9", {1, 9}),
        ("specific:2", set[int]()),
    ],
)
def test_a_policy_chooses_among_the_versions_that_there_are(text: str, chosen: set[int]) -> None:
    policy = version_policy(text)
    assert policy is not None
    assert policy.of([7, 9, 1]) == chosen


def test_without_a_policy_no_name_has_versions() -> None:
    assert version_policy("off") is None
    assert VersionPolicy().of(()) == set()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "on",
        "latest:",
        "latest:0",
        "latest:x",
        "latest:٢",
        "all:1",
        "on:1",
        "specific",
        "specific:",
        "specific:1,,2",
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be off, latest, latest:N, all, or specific"):
        version_policy(text)
