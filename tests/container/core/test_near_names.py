"""The error of a missing model suggests models with similar names."""

import pytest

from torpor_container.core.near_names import nearest, question

STORES = [f"store_{number:03}.tar.gz" for number in range(100)]
HOUSES = ["Houston_TX.tar.gz", "Chicago_IL.tar.gz", "company_a/sales.tar.gz", "company_b/other.tar.gz"]


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("houston_tx.tar.gz", "Houston_TX.tar.gz"),
        ("Houston_TX", "Houston_TX.tar.gz"),
        ("Huston_TX.tar.gz", "Houston_TX.tar.gz"),
        ("models/Houston_TX.tar.gz", "Houston_TX.tar.gz"),
        ("sales.tar.gz", "company_a/sales.tar.gz"),
        ("company_a/other.tar.gz", "company_b/other.tar.gz"),
    ],
)
def test_the_most_likely_name_comes_first(name: str, means: str) -> None:
    assert nearest(name, HOUSES)[0] == means


def test_there_are_few_and_the_best_first() -> None:
    found = nearest("store_0.tar.gz", STORES)
    assert len(found) == 3
    assert found[0] == "store_000.tar.gz"


def test_a_name_unlike_all_others_has_no_near_names() -> None:
    assert nearest("zebra.tar.gz", HOUSES) == ()
    assert nearest("x\n", ["x\n\n"]) == ()  # it could not be printed


def test_long_names_of_the_same_letters_take_no_long_time() -> None:
    names = ["ab" * 256 + "c" * number for number in range(512)]
    assert nearest("ba" * 512, names)


def test_a_question_names_them() -> None:
    assert question(()) == ""
    assert question(("a",)) == " Did you mean `a`?"
    assert question(("a", "b")) == " Did you mean `a` or `b`?"
    assert question(("a", "b", "c")) == " Did you mean `a`, `b` or `c`?"


@pytest.mark.parametrize("suffix", ["", ".tar.gz", ".tgz", ".tar"])
def test_suffixes_and_folders_do_not_count(suffix: str) -> None:
    assert nearest(f"a{suffix}", ["folder/a"]) == ("folder/a",)
    assert nearest("a", [f"folder/a{suffix}"]) == (f"folder/a{suffix}",)


def test_names_are_near_from_six_tenths_of_the_same_letters_on() -> None:
    assert nearest("abcde", ["abcxy", "abxyz"]) == ("abcxy",)


def test_long_names_of_few_letters_are_compared_by_all_of_them() -> None:
    other = f"c{'ab' * 99}d"
    assert nearest("ab" * 100, [other]) == (other,)
