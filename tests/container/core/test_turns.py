"""Turns of prediction: each request is served once, in its model's order, and no model pays for another."""

from collections import Counter
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.turns import ModelQueue, Sharing, Turn, Turns

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
            elif models is queued or not models.began(what, number):
                models.turns.wait(models.lines[what], number, now_s)
            models.go_on(now_s)
        assert immediate.story == queued.story


class TwoModels:
    """Two models, of which one may share a turn."""

    def __init__(self, sharing: Sharing) -> None:
        self.turns: Turns[int] = Turns(sharing)
        self.lines = [ModelQueue(), ModelQueue(shares=True)]
        self.story: list[tuple[int, tuple[int, ...], float]] = []  # of each turn: whose, for whom, charged
        self._running: list[tuple[int, float]] = []

    def began(self, model: int, asked: int) -> bool:
        charged_s = self.turns.begin(self.lines[model])
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
