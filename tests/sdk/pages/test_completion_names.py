"""Which names an error lists."""

import pytest

from torpor.pages.completion_names import near


@pytest.mark.parametrize(
    ("name", "known", "shown"),
    [
        ("hoses", ["houses", "boats", "x"], "houses, boats and 1 more"),
        ("Hoston.tar.gz", ["Houston.tar.gz"], "Houston.tar.gz"),
        ("zzz", ["b", "a"], "a, b"),
        ("zzz", list("fedcbag"), "a, b, c, d, e and 2 more"),
    ],
)
def test_the_nearest_names_or_else_the_first_are_listed(name: str, known: list[str], shown: str) -> None:
    assert near(name, known) == shown
