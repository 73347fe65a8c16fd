"""Schedules of faults are values: they can be printed, read back and counted down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.testing.fault_schedule import (
    KINDS,
    BadFault,
    FaultCounts,
    FaultKind,
    FaultSchedule,
    InjectedFault,
    Occasion,
)

NAMES = st.sampled_from(["", "a.tar.gz", "texas/b.tar.gz", "ö=1"])


@st.composite
def faults(draw: st.DrawFn) -> InjectedFault:
    kind = draw(st.sampled_from(FaultKind))
    seconds = draw(st.floats(0.001, 3600.0)) if KINDS[kind].seconds is not None else None
    from_s = draw(st.sampled_from([0.0, 0.25, 3600.0]))
    return InjectedFault(kind, draw(NAMES), draw(st.integers(0, 9)), draw(st.integers(1, 9)), seconds, from_s)


SCHEDULES = st.builds(FaultSchedule, st.lists(faults(), max_size=6).map(tuple))


@given(SCHEDULES)
def test_a_printed_schedule_is_read_back_as_it_was(schedule: FaultSchedule) -> None:
    again = FaultSchedule.parse(str(schedule))
    assert str(again) == str(schedule)
    assert [fault.kind for fault in again] == [fault.kind for fault in schedule]
    assert FaultSchedule.parse(str(again)) == again


def test_a_line_has_what_differs_from_the_defaults() -> None:
    assert str(InjectedFault(FaultKind.THROTTLED)) == "throttled"
    line = "slow-s3 model=a.tar.gz after=2 times=3 seconds=0.5"
    assert str(InjectedFault.parse(line)) == line
    assert InjectedFault.parse("instance-frozen").seconds == 1.0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("slow-s4", r"kind: 'slow-s4' is none of slow-s3, failing-s3"),
        ("throttled seconds=1", "seconds: throttled takes none"),
        ("slow-s3 seconds=0", "must be more than 0"),
        ("slow-s3 seconds=nan", "must be more than 0"),
        ("throttled after=-1", "after: -1 must be from 0"),
        ("throttled from_s=-1", "from_s: -1 must be from 0"),
        ("throttled times=0", "times: 0 must be from 1"),
        ("throttled times=some", "times='some' is no number"),
        ("throttled time=1", "'time=1' is none of model=, after=, times=, seconds=, from_s="),
        ("throttled times=1 times=2", "each once"),
        ("throttled kind=slow-s3", "'kind=slow-s3' is none of"),
    ],
)
def test_a_line_that_is_not_understood_is_refused(line: str, said: str) -> None:
    with pytest.raises(BadFault, match=said) as error:
        FaultSchedule.parse(f"throttled\n{line}")
    assert line in str(error.value)


def test_a_fault_lets_some_occasions_pass_and_strikes_the_next() -> None:
    counts = FaultCounts(FaultSchedule.parse("throttled after=1 times=2"))
    struck = [bool(counts.struck(Occasion.INVOCATION, "a")) for _ in range(5)]
    assert struck == [False, True, True, False, False]


def test_a_fault_counts_only_what_it_could_strike() -> None:
    counts = FaultCounts(
        FaultSchedule.parse("truncated-s3 model=a.tar.gz\nslow-s3 model=a.tar.gz\nthrottled model=a.tar.gz")
    )
    assert counts.struck(Occasion.READ, "models/b.tar.gz") == []
    assert counts.struck(Occasion.INVOCATION, "other/a.tar.gz") == []
    assert [one.kind for one in counts.struck(Occasion.TRANSFER, "models/a.tar.gz")] == [FaultKind.SLOW_S3]
    assert [one.kind for one in counts.struck(Occasion.READ, "models/a.tar.gz")] == [FaultKind.TRUNCATED_S3]
    assert [one.kind for one in counts.struck(Occasion.INVOCATION, "a.tar.gz")] == [FaultKind.THROTTLED]


def test_a_fault_strikes_from_its_moment_on() -> None:
    counts = FaultCounts(FaultSchedule.parse("throttled after=1 from_s=3600"))
    moments = (0.0, 3599.0, 3600.0, 3601.0, 3602.0)
    assert [bool(counts.struck(Occasion.INVOCATION, "a", at_s)) for at_s in moments] == [False] * 3 + [True, False]
    assert str(FaultCounts(FaultSchedule.parse("throttled from_s=3600")).left(600.0)) == "throttled from_s=3000"


@given(SCHEDULES, st.lists(st.tuples(st.sampled_from(Occasion), NAMES), max_size=30))
def test_what_is_left_strikes_as_the_rest_of_the_schedule_would(
    schedule: FaultSchedule, occasions: list[tuple[Occasion, str]]
) -> None:
    whole = FaultCounts(schedule)
    half = len(occasions) // 2
    for occasion, name in occasions[:half]:
        assert whole.next_read(name) == whole.next_read(name)
        whole.struck(occasion, name)
    rest = FaultCounts(whole.left())
    for occasion, name in occasions[half:]:
        expected = [(one.kind, one.model) for one in whole.struck(occasion, name)]
        assert [(one.kind, one.model) for one in rest.struck(occasion, name)] == expected
