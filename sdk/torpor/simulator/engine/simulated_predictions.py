"""The predictions of one simulated container, one turn after another.

This module decides nothing. `torpor_container.core.turns` decides which request predicts next, as in every container.
"""

from dataclasses import dataclass, field
from math import inf

from torpor.simulator.engine.call_records import Predictor, SimulatedCall
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.virtual_time import Action, Kernel
from torpor.workloads.profile import Spread
from torpor_container.core.turns import Turns


@dataclass(slots=True, eq=False)
class SimulatedPredictions:
    """`processors` are those of the instance, which all its containers share. `predicted` is called with each request
    that has its answer, as soon as the next turn is given."""

    kernel: Kernel
    turns: Turns[SimulatedCall]
    processors: Processors
    spread: Spread
    predicted: Action
    _compute: Action = field(init=False)  # these are planned very often: binding a method each time is slow
    _end: Action = field(init=False)
    _compute_all: Action = field(init=False)  # the same for the requests of one turn
    _end_all: Action = field(init=False)
    _due_s: float = inf  # when turns are given next although none ends before

    def __post_init__(self) -> None:
        self._compute, self._end = self._computes, self._ended
        self._compute_all, self._end_all = self._computes_all, self._all_ended

    def ask(self, call: SimulatedCall, predictor: Predictor) -> None:
        """Predict for a request, at its turn."""
        call.predictor = predictor
        queue, now_s = predictor.queue, self.kernel.now_s
        charged_s = self.turns.begin(queue, now_s)
        if charged_s is None:
            self.turns.wait(queue, call, now_s)
            self._give_turns()
        elif predictor.predict_delay_s:
            self._begin(call, charged_s)
        else:  # as `_begin` does, without a call
            call.charged_s, call.predict_began_s = charged_s, now_s
            self.processors.after(predictor.predict_s * self.spread.predict(), self._end, call)

    def _give_turns(self) -> None:
        while turn := self.turns.next(self.kernel.now_s):
            if len(turn.requests) == 1:
                self._begin(turn.requests[0], turn.charged_s)
            else:
                self._begin_all(turn.requests, turn.charged_s)
        if self.turns.waiting and (self.turns.gathers or self.turns.sliced):
            due_s = self.turns.due_s()
            if due_s < inf and due_s != self._due_s:
                self._due_s = due_s
                self.kernel.at(due_s, self._come_due, due_s)

    def _come_due(self, due_s: float) -> None:
        if due_s == self._due_s:
            self._due_s = inf
            self._give_turns()

    def _begin(self, call: SimulatedCall, charged_s: float) -> None:
        call.charged_s, call.predict_began_s = charged_s, self.kernel.now_s
        predictor = call.predictor
        if predictor.predict_delay_s:
            self.kernel.after(predictor.predict_delay_s, self._compute, call)
        else:
            self.processors.after(predictor.predict_s * self.spread.predict(), self._end, call)

    def _computes(self, call: SimulatedCall) -> None:
        self.processors.after(call.predictor.predict_s * self.spread.predict(), self._end, call)

    def _ended(self, call: SimulatedCall) -> None:
        call.done_s = now_s = self.kernel.now_s
        predictor = call.predictor
        queue = predictor.queue
        if queue.workers:
            self.turns.worker_ended(queue, call.charged_s, call.predict_began_s, now_s, predictor.part_busy)
        else:
            self.turns.ended(queue, call.charged_s, now_s - call.predict_began_s)
        if self.turns.waiting:
            self._give_turns()
        self.predicted(call)

    # -- a turn of several requests --------------------------------------------------------------------------------
    def _begin_all(self, calls: tuple[SimulatedCall, ...], charged_s: float) -> None:
        for call in calls:
            call.charged_s, call.predict_began_s = charged_s, self.kernel.now_s
        self.kernel.after(calls[0].predictor.predict_delay_s, self._compute_all, calls)

    def _computes_all(self, calls: tuple[SimulatedCall, ...]) -> None:
        predictor = calls[0].predictor
        work_s = predictor.predict_s + (len(calls) - 1) * predictor.further_s
        self.processors.after(work_s * self.spread.predict(), self._end_all, calls)

    def _all_ended(self, calls: tuple[SimulatedCall, ...]) -> None:
        now_s, first = self.kernel.now_s, calls[0]
        self.turns.ended(first.predictor.queue, first.charged_s, now_s - first.predict_began_s)
        if self.turns.waiting:
            self._give_turns()
        for call in calls:
            call.done_s = now_s
            self.predicted(call)
