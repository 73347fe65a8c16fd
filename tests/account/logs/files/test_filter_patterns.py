import pytest

from torpor_account.logs.files.filter_patterns import PatternError, compiled

MESSAGES = [
    "[ERROR 400] BAD REQUEST",
    "[ERROR 401] UNAUTHORIZED REQUEST",
    "[WARN] slow REQUEST",
    'he said "no" ERRORS',
    "error in lower case",
]


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("   ", [0, 1, 2, 3, 4]),
        ("ERROR", [0, 1, 3]),
        ("ERROR REQUEST", [0, 1]),
        ('"ERROR 400"', [0]),
        ("?WARN ?400", [0, 2]),
        ('?WARN ?"ERROR 401"', [1, 2]),
        ("ERROR -401", [0, 3]),
        ('-ERROR -"lower case"', [2]),
        ("?WARN REQUEST", [0, 1, 2]),
        (r'"\"no\""', [3]),
        ("nothing", []),
    ],
)
def test_a_pattern_matches_its_messages_and_no_others(pattern: str, matching: list[int]) -> None:
    matches = compiled(pattern)
    assert [number for number, message in enumerate(MESSAGES) if matches(message)] == matching


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [("{ $.status = 500 }", "JSON"), ("[ip, user, status=4*]", "space-delimited"), ("%4[0-9]+%", "regular expression")],
)
def test_other_kinds_are_refused_by_their_names(pattern: str, kind: str) -> None:
    with pytest.raises(PatternError, match=kind):
        compiled(pattern)


@pytest.mark.parametrize("pattern", ['"open', 'a"b', '?"a"b'])
def test_a_malformed_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="Invalid filter pattern"):
        compiled(pattern)
