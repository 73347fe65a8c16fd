"""Turns of prediction: each request is served once, in its model's order, and no model pays for another."""

from collections import Counter
from dataclasses import dataclass, field
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.turns import GRAIN, LEARNING, SLICE_S, ModelQueue, Sharing, Turn, Turns

MODELS = st.integers(0, 5)
COSTS_S = st.lists(st.floats(0.001, 5.0), min_size=6, max_size=6)


@given(st.lists(MODELS, max_size=60), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
def test_every_request_is_served_once_in_its_models_order_and_within_the_limits(
    calls: list[int], parallel: int, per_model: int, batch_size: int
) -> None:
    turns: Turns[int] = Turns(Sharing(parallel, per_model, batch_size))
    lines: list[ModelQueue] = [ModelQueue(shares=number % 2 == 0) for number in range(6)]
    for number, model in enumerate(calls):
        turns.wait(lines[model], number, 0.0)
    served: list[int] = []
    running: list[Turn[int]] = []
    while len(served) < len(calls):
        while turn := turns.next(0.0):
            running.append(turn)
            served += turn.requests
            assert len(turn.requests) <= (batch_size if turn.queue.shares else 1)
        assert running  # whoever waits and may begin has begun
        assert len(running) <= parallel
        assert max(Counter(turn.queue for turn in running).values()) <= per_model
        over = running.pop(0)
        turns.ended(over.queue, over.charged_s, 1.0)
    for model in range(6):
        assert [call for call in served if calls[call] == model] == [n for n, m in enumerate(calls) if m == model]


@given(
    st.lists(st.sampled_from([0, 1, 1, "over", "over"]), min_size=20, max_size=60),
    st.builds(Sharing, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.sampled_from([0.0, 0.6])),
)
def test_a_turn_that_begins_directly_counts_like_one_from_the_queue(story: list[int | str], sharing: Sharing) -> None:
    queued, immediate = TwoModels(sharing), TwoModels(sharing)
    for number, what in enumerate(story):
        now_s = 0.25 * number
        for models in (queued, immediate):
            if isinstance(what, str):
                models.one_is_over(now_s)
            elif models is queued or not models.began(what, number, now_s):
                models.turns.wait(models.lines[what], number, now_s)
            models.go_on(now_s)
        assert immediate.story == queued.story


@given(
    st.lists(st.tuples(MODELS, st.sampled_from(["asks", "asks", "asks", "ends", "leaves"])), max_size=80),
    st.builds(Sharing, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.sampled_from([0.0, 0.6])),
    st.lists(st.sampled_from([0.0, 0.5, 0.5, 2.0]), min_size=6, max_size=6),
)
def test_of_all_models_that_may_begin_the_one_that_has_used_least_does_and_of_equals_the_first(
    story: list[tuple[int, str]], sharing: Sharing, costs_s: list[float]
) -> None:
    """Whatever came in between: a search through all of them finds the same one."""
    turns: Turns[int] = Turns(sharing)
    models = [ModelQueue(shares=number % 2 == 0, workers=number // 4) for number in range(6)]
    running: list[tuple[Turn[int], float]] = []
    for number, (model, what) in enumerate(story):
        now_s = 0.25 * number
        if what == "asks":
            turns.wait(models[model], number, now_s)
        elif what == "leaves" and models[model] in turns.waiting:
            turns.leave(models[model], turns.waiting[models[model]][0][1])
        elif what == "ends" and running:
            over, began_s = running.pop(model % len(running))
            if over.queue.workers:
                turns.worker_ended(over.queue, over.charged_s, began_s, now_s, 0.5)
            else:
                turns.ended(over.queue, over.charged_s, costs_s[models.index(over.queue)])
        searched = list(turns.waiting)
        used_s = {queue: queue.used_s for queue in searched}
        allowed = [queue for queue in searched if turns._may_begin(queue, now_s)]
        turn = turns.next(now_s)
        if turn is not None:
            assert turn.queue is min(allowed, key=used_s.__getitem__)
            running.append((turn, now_s))
        elif allowed:
            assert turns._busy >= sharing.parallel
    assert len(turns.leave_all()) + sum(len(turn.requests) for turn, _ in running) <= len(story)
    assert not turns.waiting
    assert all(queue.place == 0 for queue in models)


class TwoModels:
    """Two models, of which one may share a turn."""

    def __init__(self, sharing: Sharing) -> None:
        self.turns: Turns[int] = Turns(sharing)
        self.lines = [ModelQueue(), ModelQueue(shares=True)]
        self.story: list[tuple[int, tuple[int, ...], float]] = []  # of each turn: whose, for whom, charged
        self._running: list[tuple[int, float]] = []

    def began(self, model: int, asked: int, now_s: float) -> bool:
        charged_s = self.turns.begin(self.lines[model], now_s)
        if charged_s is not None:
            self._enter(model, (asked,), charged_s)
        return charged_s is not None

    def go_on(self, now_s: float) -> None:
        while turn := self.turns.next(now_s):
            self._enter(self.lines.index(turn.queue), turn.requests, turn.charged_s)

    def one_is_over(self, now_s: float) -> None:
        if self._running:
            model, charged_s = self._running.pop(0)
            self.turns.ended(self.lines[model], charged_s, 0.1 + now_s % 0.7)

    def _enter(self, model: int, asked: tuple[int, ...], charged_s: float) -> None:
        self.story.append((model, asked, charged_s))
        self._running.append((model, charged_s))


@given(COSTS_S, st.integers(2, 6))
def test_models_that_are_always_waited_for_have_had_the_same_but_for_a_turn_of_each(
    costs_s: list[float], count: int
) -> None:
    turns: Turns[int] = Turns(Sharing())
    lines: list[ModelQueue] = [ModelQueue() for _ in range(count)]
    for line in lines:
        for asked in range(50):
            turns.wait(line, asked, 0.0)
    had_s = dict.fromkeys(lines, 0.0)
    while len(turns.waiting) == count:
        turn = turns.next(0.0)
        assert turn is not None
        took_s = costs_s[lines.index(turn.queue)]
        had_s[turn.queue] += took_s
        turns.ended(turn.queue, turn.charged_s, took_s)
    longest_s = max(costs_s[:count])
    assert max(had_s.values()) - min(had_s.values()) <= 2 * longest_s + 1e-9


@given(st.integers(1, 100), st.floats(0.1, 60.0))
def test_a_call_to_a_quiet_model_waits_for_at_most_one_turn_of_a_busy_model(busy: int, cost_s: float) -> None:
    turns: Turns[str] = Turns(Sharing())
    slow, quiet = ModelQueue(), ModelQueue()
    for _ in range(busy):
        turns.wait(slow, "busy", 0.0)
    began = turns.next(0.0)
    for _ in range(3):
        assert began is not None
        turns.wait(quiet, "quiet", 0.0)
        turns.ended(began.queue, began.charged_s, cost_s)
        following = turns.next(0.0)
        assert following is not None
        assert following.queue is quiet
        turns.ended(following.queue, following.charged_s, 0.001)
        began = turns.next(0.0) or following


def test_a_model_without_calls_saves_up_no_turns() -> None:
    turns: Turns[int] = Turns(Sharing())
    one, other = ModelQueue(), ModelQueue()
    for _ in range(100):  # it has had much, and alone
        turns.wait(one, 0, 0.0)
        turn = turns.next(0.0)
        assert turn is not None
        turns.ended(turn.queue, turn.charged_s, 1.0)
    for number in range(4):
        turns.wait(one, number, 0.0)
        turns.wait(other, number, 0.0)
    order = []
    while turn := turns.next(0.0):
        order.append(turn.queue is one)
        turns.ended(turn.queue, turn.charged_s, 1.0)
    assert sum(order[:4]) == 2  # they take turns from the beginning


def test_a_request_that_leaves_its_queue_is_not_served_and_the_next_one_is() -> None:
    turns: Turns[str] = Turns(Sharing())
    line = ModelQueue()
    first, second = "first", "second"
    turns.wait(line, first, 0.0)
    turns.wait(line, second, 0.0)
    turns.leave(line, first)
    turn = turns.next(0.0)
    assert turn is not None
    assert turn.requests == (second,)
    turns.leave(line, second)  # too late, and no error
    turns.ended(turn.queue, turn.charged_s, 1.0)
    assert turns.next(0.0) is None


def test_a_batch_waits_only_for_as_much_company_as_the_last_one_had() -> None:
    turns: Turns[int] = Turns(Sharing(batch_size=8, delay_s=0.25))
    line = ModelQueue(shares=True)
    turns.wait(line, 0, 0.0)
    alone = turns.next(0.0)  # nobody came with the last one: there is nothing to wait for
    assert alone is not None
    for number in (1, 2, 3):
        turns.wait(line, number, 0.0)
    turns.ended(alone.queue, alone.charged_s, 0.1)
    three = turns.next(0.1)
    assert three is not None
    assert three.requests == (1, 2, 3)
    turns.ended(three.queue, three.charged_s, 0.1)
    turns.wait(line, 4, 2.0)
    assert (turns.next(2.0), turns.due_s()) == (None, 2.25)
    turns.wait(line, 5, 2.1)
    turns.wait(line, 6, 2.2)
    whole = turns.next(2.2)
    assert whole is not None
    assert (whole.requests, turns.due_s()) == ((4, 5, 6), inf)


def test_a_request_that_waits_for_a_batch_in_vain_goes_alone_and_the_next_does_not_wait() -> None:
    turns: Turns[int] = Turns(Sharing(batch_size=8, delay_s=0.25))
    line = ModelQueue(shares=True)
    line.last_size = 5
    turns.wait(line, 0, 1.0)
    assert turns.next(1.0) is None
    turn = turns.next(turns.due_s())
    assert turn is not None
    assert turn.requests == (0,)
    turns.ended(turn.queue, turn.charged_s, 0.1)
    turns.wait(line, 1, 2.0)
    assert turns.next(2.0) is not None


# -- models with workers of their own ----------------------------------------------------------------------------------
@dataclass
class Scripts:
    """Calls that never end all at once: each model has as many as it has workers, and calls again as soon as it may."""

    turns: Turns[int]
    queues: list[ModelQueue]
    parts: list[float]  # which part of its time each keeps a processor busy
    running: list[tuple[int, float, float]] = field(default_factory=list)  # whose turn, charged, since when
    most: int = 0  # side by side

    def call(self, number: int, now_s: float) -> None:
        self.turns.wait(self.queues[number], number, now_s)
        self.go_on(now_s)

    def go_on(self, now_s: float) -> None:
        while turn := self.turns.next(now_s):
            self.running.append((turn.requests[0], turn.charged_s, now_s))
        self.most = max(self.most, len(self.running))

    def end(self, now_s: float) -> int:
        """The turn that has run longest ends."""
        number, charged_s, began_s = self.running.pop(0)
        self.turns.worker_ended(self.queues[number], charged_s, began_s, now_s, self.parts[number])
        return number


def scripts(parts: list[float], parallel: int, workers: int = 1) -> Scripts:
    return Scripts(Turns(Sharing(parallel)), [ModelQueue(workers=workers) for _ in parts], parts)


def played(told: Scripts, calls: int, took_s: float = 0.1) -> list[int]:
    """How many turns ran side by side, each time that one was over."""
    for number in range(len(told.queues)):
        for _ in range(calls):
            told.call(number, 0.0)
    now_s, beside = 0.0, []
    while told.running:
        now_s += took_s / len(told.running)
        beside.append(len(told.running))
        told.end(now_s)
        told.go_on(now_s)
    return beside


@pytest.mark.parametrize(("parallel", "count", "most"), [(2, 1, 1), (4, 1, 1), (2, 6, 2), (4, 6, 4)])
def test_scripts_that_compute_run_on_as_many_processors_as_there_are_and_each_answers_one_call_at_a_time(
    parallel: int, count: int, most: int
) -> None:
    assert max(played(scripts([1.0] * count, parallel), calls=12)) == most


@pytest.mark.parametrize("parallel", [1, 2])
def test_scripts_that_wait_run_all_side_by_side_once_that_is_known(parallel: int) -> None:
    beside = played(scripts([0.0] * 6, parallel), calls=12)
    assert beside[0] == parallel  # nothing was known
    assert max(beside) == 6


def test_as_many_turns_begin_as_keep_the_processors_busy() -> None:
    assert max(played(scripts([0.25] * 12, parallel=2), calls=30)[100:]) == 8


def test_a_script_with_workers_answers_as_many_calls_at_once() -> None:
    assert max(played(scripts([0.0], parallel=2, workers=3), calls=12)) == 3
    assert max(played(scripts([1.0], parallel=2, workers=3), calls=12)) == 2


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.integers(0, 3)), min_size=1, max_size=6),
    st.lists(st.one_of(st.integers(0, 5), st.just("over"), st.just("over")), max_size=80),
    st.integers(1, 3),
)
def test_a_turn_begins_only_while_those_that_count_leave_a_processor_free(
    models: list[tuple[float, int]], story: list[int | str], parallel: int
) -> None:
    """And whoever may begin has begun. 0 workers: the model predicts on the threads."""
    turns: Turns[int] = Turns(Sharing(parallel, parallel))
    queues, now_s = [ModelQueue(workers=workers) for _, workers in models], 0.0
    running: list[tuple[int, float, float]] = []

    def busy() -> float:
        return sum(
            1.0 if not queues[number].workers else queues[number].busy * (began_s in queues[number].began_s)
            for number, _, began_s in running
        )

    for what in story:
        now_s += 0.15
        if isinstance(what, int):
            turns.wait(queues[what % len(queues)], what % len(queues), now_s)
        elif running:
            number, charged_s, began_s = running.pop(0)
            if queues[number].workers:
                turns.worker_ended(queues[number], charged_s, began_s, now_s, models[number][0])
            else:
                turns.ended(queues[number], charged_s, now_s - began_s)
        before = busy()
        while turn := turns.next(now_s):
            assert min(before, busy()) < parallel
            number = turn.requests[0]
            running.append((number, turn.charged_s, now_s))
            before = busy()
        for queue in turns.waiting:
            held = sum(queues[number] is queue for number, _, _ in running)
            assert busy() >= parallel or held == (queue.workers or parallel)
        assert all(
            sum(queues[number] is queue for number, _, _ in running) <= (queue.workers or parallel) for queue in queues
        )
    assert busy() * GRAIN == int(busy() * GRAIN)  # parts of a processor add up exactly


def test_a_script_that_takes_long_holds_up_other_models_for_a_slice() -> None:
    turns: Turns[str] = Turns(Sharing())
    slow, native = ModelQueue(workers=1), ModelQueue()
    assert turns.begin(slow, 5.0) is not None
    assert turns.begin(native, 5.25) is None
    turns.wait(native, "native", 5.25)
    assert (turns.next(5.25), turns.due_s()) == (None, 5.0 + SLICE_S)
    turn = turns.next(5.0 + SLICE_S)
    assert turn is not None
    assert turn.queue is native
    assert turns.begin(ModelQueue(), 7.0) is None  # the native one counts in its place
    turns.ended(native, turn.charged_s, 1.0)
    turns.worker_ended(slow, 0.0, 5.0, 60.0, 1.0)
    assert turns.begin(native, 60.0) is not None


def test_a_call_behind_its_own_model_s_one_worker_is_not_due_before_that_is_free() -> None:
    turns: Turns[str] = Turns(Sharing())
    slow = ModelQueue(workers=1)
    turns.begin(slow, 0.0)
    turns.wait(slow, "behind", 0.0)
    assert (turns.due_s(), turns.next(100.0)) == (inf, None)


def _natives_before(turns: Turns[str], script: ModelQueue, native: ModelQueue, now_s: float) -> int:
    """How many turns of the native model begin before the script's next one: both are always waited for."""
    begun = 0
    while (turn := turns.next(now_s)) is not None and turn.queue is native:
        begun += 1
        turns.wait(native, "native", now_s)
        now_s += 0.125
        turns.ended(native, turn.charged_s, 0.125)
    assert turn is not None
    assert turn.queue is script
    return begun


@pytest.mark.parametrize("took_s", [0.5, 60.0, 3600.0])
def test_a_script_owes_a_slice_at_most_for_a_turn_that_took_long(took_s: float) -> None:
    turns, script, native = Turns[str](Sharing()), ModelQueue(workers=1), ModelQueue()
    charged_s = turns.begin(script, 0.0)
    assert charged_s is not None
    turns.worker_ended(script, charged_s, 0.0, took_s, None)
    for queue in (native, native, script):
        turns.wait(queue, "request", took_s)
    assert _natives_before(turns, script, native, took_s) <= SLICE_S / 0.125 + 1


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_script_with_a_turn_that_counts_no_more_saves_up_no_time(parallel: int) -> None:
    turns, script, native = Turns[str](Sharing(parallel, 1)), ModelQueue(workers=2), ModelQueue()
    assert turns.begin(script, 0.0) is not None  # a stream that does not end
    now_s = SLICE_S
    for _ in range(1000):
        charged_s = turns.begin(native, now_s)
        if charged_s is None:
            turns.wait(native, "native", now_s)
            turn = turns.next(now_s)
            assert turn is not None
            charged_s = turn.charged_s
        now_s += 0.125
        turns.ended(native, charged_s, 0.125)
    for _ in range(100):
        turns.wait(script, "script", now_s)
    turns.wait(native, "native", now_s)
    before = 0
    while (turn := turns.next(now_s)) is not None and turn.queue is script:
        before += 1
        now_s += 0.125
        turns.worker_ended(script, turn.charged_s, now_s - 0.125, now_s, 1.0)
    assert turn is not None
    assert before <= 2


# -- what a turn is charged, and what counts ---------------------------------------------------------------------------
def ran(turns: Turns[str], queue: ModelQueue, took_s: float) -> float:
    """One turn from its beginning to its end; what it was charged in advance."""
    charged_s = turns.begin(queue, 0.0)
    assert charged_s is not None
    turns.ended(queue, charged_s, took_s)
    return charged_s


def test_a_turn_is_charged_in_advance_what_the_turns_of_its_model_usually_take() -> None:
    turns, queue = Turns[str](Sharing()), ModelQueue()
    assert [ran(turns, queue, took_s) for took_s in (1.0, 2.0, 1.2)] == [0.0, 1.0, 1.0 + LEARNING]
    assert queue.used_s == 4.2
    assert queue.usual_s == 1.2


def test_without_more_words_one_turn_of_one_request_runs_at_a_time_on_the_threads_of_all() -> None:
    assert Sharing() == Sharing(parallel=1, per_model=1, batch_size=1, delay_s=0.0)
    assert (ModelQueue().shares, ModelQueue().workers) == (False, 0)


@pytest.mark.parametrize(("delay_s", "gathers"), [(0.0, False), (0.001, True), (1.0, True)])
def test_turns_gather_requests_where_there_is_a_delay(delay_s: float, gathers: bool) -> None:
    assert Turns[str](Sharing(batch_size=8, delay_s=delay_s)).gathers is gathers


def test_the_next_request_of_a_model_begins_beside_the_first_where_both_may_run() -> None:
    turns, queue = Turns[str](Sharing(parallel=2, per_model=2)), ModelQueue()
    for request in ("first", "second"):
        turns.wait(queue, request, 0.0)
    assert [turn and turn.requests for turn in (turns.next(0.0), turns.next(0.0))] == [("first",), ("second",)]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_model_with_a_turn_that_counts_keeps_its_credit_and_no_other_does(workers: int) -> None:
    """A turn of a model with workers counts until its slice is over, and not at that moment."""
    for at_s, keeps in [(SLICE_S - 0.25, True), (SLICE_S, workers == 0)]:
        turns, queue, other = Turns[str](Sharing(parallel=2, per_model=2)), ModelQueue(workers=workers), ModelQueue()
        assert turns.begin(queue, 0.0) is not None
        ran(turns, other, 8.0)
        ran(turns, other, 8.0)
        used_s = queue.used_s
        turns.wait(queue, "request", at_s)
        assert queue.used_s == (used_s if keeps else turns._virtual_s) < other.used_s


def test_a_turn_that_begins_at_once_gets_no_credit_for_a_turn_that_counts_no_more() -> None:
    turns, script, native = Turns[str](Sharing(parallel=2)), ModelQueue(workers=2), ModelQueue()
    assert turns.begin(script, 0.0) is not None
    for _ in range(3):
        ran(turns, native, 8.0)
    assert turns.begin(script, SLICE_S) is not None
    assert script.used_s == turns._virtual_s > 0


# -- what a turn of a script keeps busy --------------------------------------------------------------------------------
def grains(part: float) -> float:
    return -(-part * GRAIN // 1) / GRAIN


def test_a_model_learns_which_part_of_a_processor_its_turns_keep_busy() -> None:
    queue = ModelQueue(workers=1)
    seen = []
    for part in (0.5, 1.0, 0.0):
        queue.worked(part)
        seen.append(queue.busy)
    second = 0.5 + 0.5 * LEARNING
    assert seen == [0.5, grains(second), grains(second * (1 - LEARNING))]


@pytest.mark.parametrize(("part", "busy"), [(3.0, 1.0), (-1.0, 0.0)])
def test_a_turn_keeps_no_more_than_one_processor_busy_and_no_less_than_none(part: float, busy: float) -> None:
    first, later = ModelQueue(workers=1), ModelQueue(workers=1)
    first.worked(part)
    later.worked(busy)
    later.worked(part)
    assert first.busy == later.busy == busy


def test_what_is_learned_of_one_turn_counts_for_those_of_its_model_that_run() -> None:
    turns, script, native = Turns[str](Sharing(parallel=2)), ModelQueue(workers=2), ModelQueue()
    assert [turns.begin(script, 0.0), turns.begin(script, 0.25)] == [0.0, 0.0]
    turns.worker_ended(script, 0.0, 0.0, 0.5, 0.0)  # it only waited, as the other one is taken to do now
    assert [turns.begin(native, 0.5), turns.begin(ModelQueue(), 0.5)] == [0.0, 0.0]
    assert turns.begin(ModelQueue(), 0.5) is None


def test_a_turn_of_a_script_is_charged_the_time_that_it_kept_a_processor_busy() -> None:
    turns, script = Turns[str](Sharing()), ModelQueue(workers=1)
    assert turns.begin(script, 3.0) == 0.0
    turns.worker_ended(script, 0.0, 3.0, 3.5, 0.5)
    assert script.used_s == 0.25


# -- when the next turn is due -----------------------------------------------------------------------------------------
def test_a_turn_is_due_when_the_first_slice_is_over_if_any_model_that_waits_may_begin() -> None:
    turns, early, late = Turns[str](Sharing(parallel=2)), ModelQueue(workers=1), ModelQueue(workers=1)
    assert [turns.begin(late, 1.0), turns.begin(early, 0.5)] == [0.0, 0.0]
    turns.wait(early, "behind its own worker", 1.0)
    assert turns.due_s() == inf
    turns.wait(ModelQueue(), "free", 1.0)
    assert turns.due_s() == 0.5 + SLICE_S


def test_a_turn_whose_slice_is_over_is_not_waited_for_again() -> None:
    turns, script, native = Turns[str](Sharing()), ModelQueue(workers=1), ModelQueue()
    assert turns.begin(script, 0.0) is not None
    turns.wait(native, "native", 0.5)
    turn = turns.next(SLICE_S)
    assert turn is not None
    turns.wait(ModelQueue(), "another", SLICE_S)
    assert turns.due_s() == inf  # the native turn runs to its end


def test_the_batch_that_has_waited_longest_is_due_first() -> None:
    turns = Turns[str](Sharing(batch_size=8, delay_s=0.25))
    queues = [ModelQueue(shares=True), ModelQueue(shares=True)]
    for queue, since_s in zip(queues, (1.0, 1.125), strict=True):
        queue.last_size = 2
        turns.wait(queue, "request", since_s)
    assert turns.due_s() == 1.25


# -- entries of the line that are out of date --------------------------------------------------------------------------
def test_those_who_come_and_leave_make_no_long_line_and_take_nobodys_place() -> None:
    turns = Turns[int](Sharing())
    used_s = [5.0, 2.0, 4.0, 1.0, 3.0, 0.5]
    for number, used in enumerate(used_s):
        queue = ModelQueue()
        queue.used_s = used
        turns.wait(queue, number, 0.0)
    restless, lengths = ModelQueue(), [0]
    for _ in range(200):
        turns.wait(restless, -1, 0.0)
        turns.leave(restless, -1)
        lengths.append(len(turns._line))
    assert max(lengths) < 50
    while lengths[-1] > lengths[-2]:  # those that are out of date have just left
        turns.wait(restless, -1, 0.0)
        turns.leave(restless, -1)
        lengths.append(len(turns._line))
    served: list[int] = []
    while turn := turns.next(0.0):
        served += turn.requests
        turns.ended(turn.queue, turn.charged_s, 10.0)
    assert served == [5, 3, 1, 4, 2, 0]
