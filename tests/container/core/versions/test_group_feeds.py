"""Which groups feed which names, as a text says it."""

import pytest

from torpor_container.core.versions.group_feeds import group_feeds


@pytest.mark.parametrize(
    ("text", "feeds"),
    [
        ("", {}),
        ("iris=irises", {"iris": "irises"}),
        ("iris=irises, company/rose=my-roses,", {"iris": "irises", "company/rose": "my-roses"}),
        ("a=same,b=same", {"a": "same", "b": "same"}),
        (f"a={'g' * 63}", {"a": "g" * 63}),
    ],
)
def test_a_text_names_the_group_of_each_name(text: str, feeds: dict[str, str]) -> None:
    assert group_feeds(text) == feeds


@pytest.mark.parametrize(
    "text",
    [
        "iris",
        "=irises",
        "iris=",
        "iris=a=b",
        "iris=a,iris=b",
        "iris@3=a",
        "/iris=a",
        "iris/=a",
        "a//b=a",
        "a/../b=a",
        "./b=a",
        "a\tb=a",
        "iris=-a",
        "iris=a-",
        "iris=a_b",
        f"iris={'g' * 64}",
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be NAME=GROUP"):
        group_feeds(text)
