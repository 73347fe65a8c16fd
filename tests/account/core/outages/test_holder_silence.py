"""Who may hold the records: endpoints that stand by, freeze, lose connections and go on, in any order."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from torpor_account.core.outages.holder_silence import Beat, HolderSilence

LOOKS = 3
ENDPOINTS = range(3)


def looked(silence: HolderSilence, *beats: Beat | None) -> HolderSilence:
    for beat in beats:
        silence.look(beat)
    return silence


def test_a_holder_is_silent_once_more_looks_than_allowed_saw_the_same_beat() -> None:
    beat = Beat("a", 7, 100)
    assert not looked(HolderSilence(LOOKS), *[beat] * LOOKS).is_silent
    assert looked(HolderSilence(LOOKS), *[beat] * (LOOKS + 1)).silent_session == 100


@given(st.lists(st.integers(1, LOOKS), min_size=1, max_size=20))
def test_one_that_beats_between_so_many_looks_is_never_silent(looks: list[int]) -> None:
    silence = HolderSilence(LOOKS)
    for number, times in enumerate(looks):
        for _ in range(times):
            silence.look(Beat("a", number, 100))
            assert not silence.is_silent


def test_a_silent_one_whose_connection_has_ended_stays_silent_until_it_beats() -> None:
    silence = looked(HolderSilence(LOOKS), *[Beat("a", 7, 100)] * (LOOKS + 1), Beat("a", 7, None))
    assert (silence.is_silent, silence.silent_session) == (True, None)
    assert not looked(silence, Beat("a", 8, None)).is_silent


def test_one_that_was_not_silent_yet_gets_time_to_connect_again() -> None:
    silence = looked(HolderSilence(LOOKS), *[Beat("a", 7, 100)] * LOOKS, *[Beat("a", 7, None)] * LOOKS)
    assert not silence.is_silent
    assert looked(silence, Beat("a", 7, None)).is_silent


def test_whoever_takes_the_lock_from_a_silent_one_is_looked_at_anew() -> None:
    silence = looked(HolderSilence(LOOKS), *[Beat("a", 7, 100)] * (LOOKS + 1))
    silence.look(Beat("a", 7, 200))  # it has the lock, and has not written its name yet
    assert silence.silent_session is None


def test_records_that_were_given_up_or_never_held_are_free() -> None:
    assert HolderSilence(LOOKS).given_up
    silence = looked(HolderSilence(LOOKS), *[Beat("", 7, None)] * (LOOKS + 2))
    assert (silence.given_up, silence.is_silent) == (True, False)
    assert looked(HolderSilence(LOOKS), None).given_up


class Records:
    """What the server does for its connections: one has the lock until it ends, and only that one writes."""

    def __init__(self) -> None:
        self.holder, self.beats, self.written = "", 0, list[str]()
        self.lock: int | None = None
        self.open: set[int] = set()

    def seen(self) -> Beat:
        return Beat(self.holder, self.beats, self.lock)

    def end(self, session: int) -> None:
        self.open.discard(session)
        if self.lock == session:
            self.lock = None


class LeaseMachine(RuleBasedStateMachine):
    """Three endpoints take their steps in any order. One that takes none is frozen, and so are its beats."""

    def __init__(self) -> None:
        super().__init__()
        self.records = Records()
        self.sessions = dict[int, int]()  # the endpoint's connection that writes
        self.silences = {one: HolderSilence(LOOKS) for one in ENDPOINTS}
        self.takeovers = list[str]()
        self.still = 0  # the looks since the latest beat of the holder
        self._number = 0

    def connect(self, one: int) -> int:
        self._number += 1
        self.sessions[one] = self._number
        self.records.open.add(self._number)
        return self._number

    def holds(self, one: int) -> bool:
        return self.records.lock is not None and self.sessions.get(one) == self.records.lock

    def name(self, one: int) -> str:
        return f"{one}.{self.sessions[one]}"

    @rule(one=st.sampled_from(ENDPOINTS))
    def wait(self, one: int) -> None:
        """One look of a standby, as `PostgresqlSchema._wait` has it. The lock and the holder's name are two steps."""
        if self.sessions.get(one) in self.records.open and self.records.lock == self.sessions.get(one):
            return
        silence, beat = self.silences[one], self.records.seen()
        silence.look(beat)
        self.still += 1
        if silence.given_up or silence.is_silent:
            if self.records.lock is None:
                self.records.lock = self.connect(one)
                return
            if silence.silent_session is not None:
                assert self.still > LOOKS, "a holder that beats was ended"
                self.records.end(silence.silent_session)

    @rule(one=st.sampled_from(ENDPOINTS))
    def begin(self, one: int) -> None:
        """Whoever has the lock writes its name."""
        if self.holds(one) and self.records.holder != self.name(one):
            self.records.holder, self.records.beats = self.name(one), self.records.beats + 1
            self.takeovers.append(self.name(one))
            self.still = 0

    @rule(one=st.sampled_from(ENDPOINTS))
    def beat(self, one: int) -> None:
        if one in self.sessions and self.records.holder == self.name(one):
            self.records.beats += 1
            self.still = 0

    @rule(one=st.sampled_from(ENDPOINTS))
    def write(self, one: int) -> None:
        """A frozen one that goes on writes by the connection that it has."""
        if self.sessions.get(one) in self.records.open and self.holds(one) and self.records.holder == self.name(one):
            self.records.written.append(self.name(one))

    @rule(one=st.sampled_from(ENDPOINTS))
    def give_up(self, one: int) -> None:
        if self.holds(one) and self.records.holder == self.name(one):
            self.records.holder = ""
            self.records.end(self.sessions[one])

    @rule(one=st.sampled_from(ENDPOINTS))
    def lose_the_connection(self, one: int) -> None:
        if one in self.sessions:
            self.records.end(self.sessions[one])

    @invariant()
    def nobody_writes_after_another_has_taken_over(self) -> None:
        turns = [self.takeovers.index(name) for name in self.records.written]
        assert turns == sorted(turns)


TestLeaseMachine = LeaseMachine.TestCase
