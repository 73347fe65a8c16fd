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
    assert [InjectedFault.parse(kind).seconds for kind in ("slow-s3", "instance-frozen", "throttled")] == [1, 1, None]
    assert str(InjectedFault(FaultKind.SLOW_S3, seconds=1.0)) == "slow-s3"


def test_each_kind_has_its_name_and_strikes_its_occasions() -> None:
    struck = {
        kind: [one.name for one in Occasion if InjectedFault.parse(kind).may_strike(one, "a")]
        for kind in (
            *("slow-s3", "failing-s3", "truncated-s3", "skewed-clock", "corrupt-artifact"),
            *("out-of-memory", "instance-killed", "instance-frozen", "throttled"),
        )
    }
    assert struck.keys() == set(FaultKind)
    assert {kind for kind, occasions in struck.items() if occasions == ["READ", "TRANSFER"]} == {
        *("slow-s3", "failing-s3", "skewed-clock")
    }
    assert {kind for kind, occasions in struck.items() if occasions == ["READ"]} == {"truncated-s3", "corrupt-artifact"}
    assert {kind for kind, occasions in struck.items() if occasions == ["INVOCATION"]} == {
        *("out-of-memory", "instance-killed", "instance-frozen", "throttled")
    }
    assert type(InjectedFault.parse("throttled").kind) is FaultKind


def test_a_schedule_with_empty_lines_or_drawn_by_chance_is_the_same() -> None:
    plain = FaultSchedule.parse("throttled\nslow-s3")
    assert FaultSchedule.parse("\nthrottled\n \nslow-s3\n") == plain == FaultSchedule(plain.faults, drawn=True)
    assert not plain.drawn


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("slow-s4", r"kind: 'slow-s4' is none of slow-s3, failing-s3"),
        ("throttled seconds=1", "seconds: throttled takes none"),
        ("slow-s3 seconds=0", "must be more than 0"),
        ("slow-s3 seconds=nan", "must be more than 0"),
        ("slow-s3 seconds=3600.5", "seconds: 3600.5 must be more than 0 and at most 3600"),
        ("throttled after=1000001", "after: 1000001 must be from 0 to 1000000"),
        ("throttled times=1000001", "times: 1000001 must be from 1 to 1000000"),
        ("throttled from_s=316224001", r"from_s: 3.16224e\+08 must be from 0 to 3.16224e\+08"),
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


def test_the_largest_values_are_taken() -> None:
    line = "slow-s3 after=1000000 times=1000000 seconds=3600 from_s=316224000"
    assert str(InjectedFault.parse(line)) == line


def test_a_model_with_a_space_is_refused() -> None:
    with pytest.raises(BadFault, match="model: 'a b' has a space"):
        InjectedFault(FaultKind.THROTTLED, "a b")


def test_a_fault_strikes_one_occasion_unless_it_says_how_many() -> None:
    counts = FaultCounts(FaultSchedule.parse("throttled"))
    assert [bool(counts.struck(Occasion.INVOCATION, "a")) for _ in range(3)] == [True, False, False]


def test_a_look_at_the_next_read_counts_nothing_and_knows_the_moment() -> None:
    counts = FaultCounts(FaultSchedule.parse("truncated-s3 model=a from_s=10\nslow-s3 model=a\nthrottled"))
    moments = (0.0, 9.0, 10.0)
    assert [[one.kind for one in counts.next_read("m/a", at_s)] for at_s in moments] == [
        *([FaultKind.SLOW_S3], [FaultKind.SLOW_S3]),
        [FaultKind.TRUNCATED_S3, FaultKind.SLOW_S3],
    ]
    assert [one.kind for one in counts.next_read("m/a")] == [FaultKind.SLOW_S3]
    assert counts.next_read("m/b", 10.0) == []
    assert [one.kind for one in counts.struck(Occasion.READ, "m/a")] == [FaultKind.SLOW_S3]
    assert [one.kind for one in counts.next_read("m/a", 10.0)] == [FaultKind.TRUNCATED_S3]


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
    waiting = FaultCounts(FaultSchedule.parse("throttled from_s=3600"))
    left = [str(waiting.left(elapsed_s)) for elapsed_s in (0.0, 600.0, 3600.0, 7200.0)]
    assert left == ["throttled from_s=3600", "throttled from_s=3000", "throttled", "throttled"]
    assert str(waiting.left()) == left[0]


def test_what_is_left_of_a_fault_is_what_it_has_not_let_pass_or_struck() -> None:
    counts = FaultCounts(FaultSchedule.parse("throttled after=1 times=3"))
    left = [str(counts.left())]
    for _ in range(5):
        counts.struck(Occasion.INVOCATION, "a")
        left.append(str(counts.left()))
    assert left == ["throttled after=1 times=3", "throttled times=3", "throttled times=2", "throttled", "", ""]


def test_an_occasion_without_a_moment_is_at_the_beginning() -> None:
    counts = FaultCounts(FaultSchedule.parse("failing-s3 from_s=0.5"))
    assert counts.next_read("a") == counts.struck(Occasion.READ, "a") == []
    assert len(counts.next_read("a", 0.5)) == len(counts.struck(Occasion.READ, "a", 0.5)) == 1


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
