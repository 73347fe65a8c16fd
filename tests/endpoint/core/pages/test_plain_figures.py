"""Figures as a person reads them."""

from datetime import datetime

from torpor_endpoint.core.pages.plain_figures import counted, milliseconds, moment, size

NOON_S = datetime(2026, 5, 1, 12).timestamp()


def test_a_moment_of_another_day_has_its_date() -> None:
    assert moment(NOON_S, NOON_S + 60, "%H:%M:%S") == "12:00:00"
    assert moment(NOON_S, NOON_S + 24 * 3600, "%H:%M:%S") == "2026-05-01 12:00:00"


def test_a_count_of_one_is_singular() -> None:
    assert [counted(1, "hit"), counted(2, "hit"), counted(0, "hit")] == ["1 hit", "2 hits", "0 hits"]


def test_figures_keep_their_meaning_at_every_size() -> None:
    assert [milliseconds(0.0042), milliseconds(1.375)] == ["4.2 ms", "1,375 ms"]
    assert [size(2048), size(1.5 * 2**20), size(8 * 2**30)] == ["2 KiB", "1.5 MiB", "8.0 GiB"]
