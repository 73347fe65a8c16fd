"""Work waits longer and longer for the machine, and one outage is told and tried once for all who meet it."""

import pytest

from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.core.outages.waiting import Outage, pause_s


@pytest.mark.parametrize(
    ("failures", "pause"), [(1, 0.2), (2, 0.4), (3, 0.8), (6, 6.4), (7, 10.0), (40, 10.0), (100_000, 10.0)]
)
def test_each_pause_is_twice_as_long_up_to_ten_seconds(failures: int, pause: float) -> None:
    assert pause_s(failures) == pytest.approx(pause)


def test_an_outage_begins_with_the_first_failure_and_ends_with_the_first_success() -> None:
    outage = Outage()
    assert (outage.lasts, outage.next_try_s, outage.worked()) == (False, 0.0, False)
    assert [outage.failed(5.0), outage.lasts, outage.failed(5.0)] == [True, True, False]
    assert [outage.worked(), outage.lasts, outage.worked()] == [True, False, False]
    assert outage == Outage(failures=0, next_try_s=0.0)
    assert outage.failed(6.0)


def test_work_that_began_before_the_outage_makes_no_pause_longer() -> None:
    outage = Outage()
    outage.failed(5.0)
    first_s = outage.next_try_s
    for now_s in (5.0, 5.1, first_s - 0.01):
        outage.failed(now_s)
    assert (outage.failures, outage.next_try_s) == (1, first_s) == (1, 5.0 + pause_s(1))
    outage.failed(first_s)
    assert (outage.failures, outage.next_try_s) == (2, first_s + pause_s(2))


def test_the_fault_of_what_keeps_records_is_not_told_before_somebody_tells_it() -> None:
    assert not RecordsFault("a full disk").told
