"""A table that is followed by differences: whatever is lost, late, twice or forgotten, the follower ends up with it."""

from collections.abc import Mapping

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from tests.helpers.example_counts import tries
from torpor_endpoint.core.routing.table_differences import (
    Differences,
    TableSource,
    TableVersion,
    Uptake,
    uptake,
)

GONE_MAX = 3
Row = int
KEYS = st.sampled_from("abcdef")
ROWS = st.dictionaries(KEYS, st.none() | st.integers(0, 2), max_size=4)


class Copy:
    """A follower that keeps rows."""

    def __init__(self) -> None:
        self.version: TableVersion | None = None
        self.rows: dict[str, Row] = {}
        self.lacks = False

    def take(self, told: Differences[str, Row]) -> Uptake:
        taken = uptake(self.version, told.version, told.since)
        self.lacks = taken is Uptake.GAP
        if taken is Uptake.WHOLE:
            self.rows = dict(told.rows)
        elif taken is Uptake.CHANGES:
            self.rows = {key: row for key, row in self.rows.items() if key not in told.gone} | dict(told.rows)
        if taken in (Uptake.WHOLE, Uptake.CHANGES):
            self.version = told.version
        return taken


class Followed(RuleBasedStateMachine):
    """One source, which begins a new life now and then, and one follower, with answers on their way in between."""

    answers = Bundle("answers")

    @initialize()
    def begin(self) -> None:
        self.lives = 0
        self.truth: dict[str, Row] = {}
        self.source_restarts({})
        self.copy = Copy()
        self.states: dict[TableVersion, Mapping[str, Row]] = {self.source.version: {}}

    @rule(rows=ROWS)
    def rows_change(self, rows: dict[str, Row | None]) -> None:
        before = self.source.version.number
        changed = self.source.update(rows)
        now = {key: row for key, row in (self.truth | rows).items() if row is not None}
        assert set(changed) == {key for key in rows if self.truth.get(key) != rows[key]}
        assert self.source.version.number == before + (now != self.truth)
        self.truth = now
        self.states[self.source.version] = now

    @rule(target=answers)
    def follower_asks(self) -> Differences[str, Row]:
        """The answer is on its way: it may come, late, or never, or twice."""
        return self.source.since(None if self.copy.lacks else self.copy.version)

    @rule(told=answers)
    def answer_comes(self, told: Differences[str, Row]) -> None:
        if told.version.life == self.source.version.life:
            self.copy.take(told)

    @rule(told=consumes(answers))
    def answer_is_lost(self, told: Differences[str, Row]) -> None: ...

    @rule(rows=ROWS)
    def source_restarts(self, rows: dict[str, Row | None]) -> None:
        self.lives += 1
        self.source = TableSource[str, Row](f"life {self.lives}", GONE_MAX)
        self.source.update(self.truth)
        self.states = {TableVersion(f"life {self.lives}", 0): {}, self.source.version: dict(self.truth)}

    @rule()
    def follower_restarts(self) -> None:
        self.copy = Copy()

    @rule()
    def stream_is_quiet(self) -> None:
        """Two questions are answered: the second, if the first found a gap."""
        for _ in range(2):
            self.copy.take(self.source.since(None if self.copy.lacks else self.copy.version))
        assert self.copy.rows == self.truth
        assert self.copy.version == self.source.version
        told = self.source.since(self.copy.version)
        assert (told.rows, told.gone) == ({}, ())

    @invariant()
    def a_follower_has_the_rows_of_its_version(self) -> None:
        if self.copy.version in self.states:
            assert self.copy.rows == self.states[self.copy.version]

    @invariant()
    def what_is_remembered_is_bounded(self) -> None:
        assert len(self.source) == len(self.truth)
        assert len(self.source.since(TableVersion(self.source.version.life, 0)).gone) <= GONE_MAX


TestFollowed = Followed.TestCase
TestFollowed.settings = settings(max_examples=tries(24), stateful_step_count=30, deadline=None)


def source(rows: Mapping[str, Row]) -> TableSource[str, Row]:
    made = TableSource[str, Row]("one", GONE_MAX)
    made.update(rows)
    return made


def test_a_follower_gets_the_rows_that_changed_and_each_once() -> None:
    table = source({"a": 1, "b": 1, "c": 1})
    known = table.version
    for row in (2, 3, 4):
        table.update({"b": row})
    table.update({"c": None})
    assert table.since(known) == Differences(TableVersion("one", 5), 1, {"b": 4}, ("c",))


def test_a_follower_of_the_first_version_gets_what_came_since() -> None:
    table = source({"a": 1})
    assert table.since(TableVersion("one", 0)) == Differences(TableVersion("one", 1), 0, {"a": 1})


class Counted(str):
    """A key that counts how often it is looked up."""

    looked = 0

    def __hash__(self) -> int:
        Counted.looked += 1
        return super().__hash__()


def test_differences_cost_what_has_changed_and_not_what_there_is() -> None:
    def cost(rows: int) -> int:
        table = TableSource[str, Row]("one", rows)
        keys = [Counted(number) for number in range(rows)]
        table.update(dict.fromkeys(keys, 1))
        table.update(dict.fromkeys(keys[: rows // 2]))
        known = table.version
        table.update({keys[-1]: 2, keys[-2]: None})
        before = Counted.looked
        assert table.since(known) == Differences(table.version, known.number, {keys[-1]: 2}, (keys[-2],))
        return Counted.looked - before

    assert cost(40) == cost(400)


def test_a_row_that_comes_back_is_not_gone() -> None:
    table = source({"a": 1})
    known = table.version
    table.update({"a": None})
    table.update({"a": 1})
    assert table.since(known) == Differences(TableVersion("one", 3), 1, {"a": 1})


def test_a_follower_that_lacks_a_forgotten_end_gets_the_whole_table() -> None:
    table = source(dict.fromkeys("abcdef", 1))
    known = table.version
    for key in "abc":
        table.update({key: None})
    assert set(table.since(known).gone) == set("abc")
    table.update({"d": None})
    assert table.since(known) == Differences(TableVersion("one", 5), None, {"e": 1, "f": 1})
    assert table.since(TableVersion("one", 2)).gone == ("d", "c", "b")


def test_a_version_that_the_source_never_had_gets_the_whole_table() -> None:
    table = source({"a": 1})
    for version in (None, TableVersion("another", 1), TableVersion("one", 9)):
        assert table.since(version) == Differences(TableVersion("one", 1), None, {"a": 1})


def test_the_same_rows_make_no_new_version() -> None:
    table = source({"a": 1})
    assert table.update({"a": 1, "z": None}) == ()
    assert table.version == TableVersion("one", 1)


def test_what_a_follower_takes() -> None:
    own = TableVersion("one", 5)
    assert uptake(None, own, None) is Uptake.WHOLE
    assert uptake(None, own, 3) is Uptake.GAP
    assert uptake(own, TableVersion("two", 1), None) is Uptake.WHOLE
    assert uptake(own, TableVersion("two", 9), 5) is Uptake.GAP
    assert uptake(own, TableVersion("one", 5), None) is Uptake.NOTHING
    assert uptake(own, TableVersion("one", 4), 2) is Uptake.NOTHING
    assert uptake(own, TableVersion("one", 6), None) is Uptake.WHOLE
    assert uptake(own, TableVersion("one", 6), 5) is Uptake.CHANGES
    assert uptake(own, TableVersion("one", 7), 4) is Uptake.CHANGES
    assert uptake(own, TableVersion("one", 8), 6) is Uptake.GAP
