"""The order in which a tuning tries choices: it halves the ladder of prices, then proposes, varies and draws.

The first steps find some always-on variant that meets the goal, in as many simulations as the ladder of prices can be
halved. Its price bounds all others: what is known to cost more is not simulated. The optimiser then proposes choices of
all settings together. The best one is varied in one setting at a time, which also shows what makes no difference there.
What is left of the simulations goes to choices that are drawn around the best one, several settings changed at once:
the optimiser repeats itself in a small space, and a change of one setting alone may hide what two do together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from torpor.simulator.tuning.proposals import Proposals
from torpor.simulator.tuning.tune_space import ALWAYS, SERVERLESS, Chosen, Knob
from torpor.simulator.tuning.tuned_trials import TrialJudge, TunedTrial

PROPOSED_SHARE: Final = 0.5
"""The share of the simulations after which the best choice is varied."""
STALE_MAX: Final = 25
"""So many proposals in a row without a new simulation end the proposing."""
DRAWS_STALE_MAX: Final = 200
"""So many drawn choices in a row without a new simulation end the search."""
CHANGED_SHARE: Final = 0.3
"""The share of the settings that a drawn choice changes, on average."""


@dataclass(eq=False)
class TuningSearch:
    """One search. `best` is the choice of the judge's best trial."""

    judge: TrialJudge
    knobs: Sequence[Knob]
    proposals: Proposals

    def __post_init__(self) -> None:
        self.best: Chosen | None = None

    def run(self) -> None:
        """Search until the simulations are used up, or nothing new is proposed."""
        self._halve()
        self._try_ways()
        self._propose(round(PROPOSED_SHARE * self.judge.evaluations_max))
        self._vary()
        self._propose(self.judge.evaluations_max)
        self._vary()
        self._draw()
        self._vary()
        self._settle()

    # -- one after the other -------------------------------------------------------------------------------------------
    def _halve(self) -> None:
        """Find the cheapest step of the ladder that meets the goal, if dearer ones meet it wherever cheaper ones do."""
        ladder = self._ladder()
        low, high = 0, len(ladder)
        while low < high and not self.judge.over:
            middle = (low + high) // 2
            if self._try(ladder[middle]).meets:
                high = middle
            else:
                low = middle + 1

    def _try_ways(self) -> None:
        """Run what was found in each other way, with the shortest keep-alive, and serverless in each size from large to
        small while it meets the goal. Each way is the cheapest for some traffic."""
        knobs = {knob.name: knob for knob in self.knobs}
        found = self.best or {name: self._usual(knob) for name, knob in knobs.items()}
        for way in knobs["way"].values:
            for mib in reversed(knobs["serverless_mib"].values) if way == SERVERLESS else (found["serverless_mib"],):
                if self.judge.over:
                    return
                chosen = {**found, "way": way, "idle_s": knobs["idle_s"].values[0], "serverless_mib": mib}
                if not self._try(chosen).meets:
                    break

    def _ladder(self) -> list[Chosen]:
        """Each instance type in each number, with the usual value of every other setting, from cheap to dear."""
        knobs = {knob.name: knob for knob in self.knobs}
        ways = [way for way in knobs["way"].values if way != SERVERLESS]
        if not ways:
            return []
        usual = {name: self._usual(knob) for name, knob in knobs.items()}
        usual["way"] = ALWAYS if ALWAYS in ways else ways[0]
        search, found = self.judge.search, list[tuple[float, int, Chosen]]()
        for size in knobs["instance_type"].values:
            for count in knobs["instances"].values:
                usd = search.usd_always(self.judge.space.like.altered(instance_type=size, instances=count))
                found.append((usd, count, {**usual, "instance_type": size, "instances": count}))
        return [chosen for _, _, chosen in sorted(found, key=lambda one: one[:2])]

    def _usual(self, knob: Knob) -> Any:
        """The value of the scenario that is tuned, if it may be chosen; otherwise the first."""
        own = getattr(self.judge.space.like, knob.name, None)
        return own if own in knob.values else knob.values[0]

    def _propose(self, evaluations: int) -> None:
        """Try proposals until so many simulations are done, or nothing new comes."""
        stale = 0
        while self.judge.evaluations < evaluations and not self.judge.over and stale < STALE_MAX:
            chosen = self.proposals.next()
            before = self.judge.evaluations
            trial, new = self._judged(chosen)
            if new:
                self.proposals.learn(trial.usd, trial.too_late)
            else:
                self.proposals.skip()
            stale = stale + 1 if self.judge.evaluations == before else 0

    def _draw(self) -> None:
        """Try choices around the best one, or anywhere if nothing met the goal yet, until nothing new comes. A better
        one is varied at once."""
        dice, stale = Random(self.proposals.seed), 0
        while not self.judge.over and stale < DRAWS_STALE_MAX:
            before, best = self.judge.evaluations, self.best
            self._judged(self._drawn(dice), as_cheap=True)
            if self.best is not best:
                self._vary()
            stale = stale + 1 if self.judge.evaluations == before else 0

    def _drawn(self, dice: Random) -> Chosen:
        """The best choice with some settings drawn anew."""
        anew = {knob.name: dice.choice(knob.values) for knob in self.knobs}
        if self.best is None:
            return anew
        return {name: anew[name] if dice.random() < CHANGED_SHARE else kept for name, kept in self.best.items()}

    def _vary(self) -> None:
        """Change one setting of the best choice at a time, until no change improves it."""
        varied: Chosen | None = None
        while self.best is not varied and not self.judge.over:
            varied = self.best
            if varied is None:
                return
            for chosen in self.neighbours(varied):
                if self.judge.over:
                    return
                self._try(chosen, as_cheap=True)
                if self.best is not varied:
                    break  # what is known of the others costs nothing when they come again

    def _settle(self) -> None:
        """Give each setting of the best choice its usual value where that is as good."""
        for knob in self.knobs:
            if self.best is None or self.judge.best is None:
                return
            usual = {**self.best, knob.name: self._usual(knob)}
            trial = self.judge.known(usual)
            if trial is not None and trial.meets and trial.rank == self.judge.best.rank:
                self.best = usual
                self.judge.prefer(trial, usual)

    def neighbours(self, chosen: Chosen) -> list[Chosen]:
        """All choices that differ in one setting."""
        return [
            {**chosen, knob.name: value} for knob in self.knobs for value in knob.values if value != chosen[knob.name]
        ]

    def _try(self, chosen: Chosen, as_cheap: bool = False) -> TunedTrial:
        """Judge a choice, and tell the optimiser what became of it if it was not known before."""
        trial, new = self._judged(chosen, as_cheap)
        if new:
            self.proposals.tell(chosen, trial.usd, trial.too_late)
        return trial

    def _judged(self, chosen: Chosen, as_cheap: bool = False) -> tuple[TunedTrial, bool]:
        before = self.judge.best
        trial, new = self.judge.judge(chosen, as_cheap)
        if self.judge.best is not before:
            self.best = chosen
        return trial, new
