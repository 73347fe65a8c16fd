"""Proposes choices by optuna, and learns from what became of them. It judges none.

optuna's TPE (Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NeurIPS 2011) models which values good and
bad choices have, all settings together. Its studies in memory import no database library.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torpor.simulator.tuning.tune_space import Chosen, Knob

DRAWN_FIRST = 8
"""So many choices are drawn at random before the model of good and bad ones is used."""


@dataclass(eq=False)
class Proposals:
    """Proposals for these knobs. The same seed and the same outcomes give the same proposals."""

    knobs: Sequence[Knob]
    seed: int
    _study: Any = field(init=False)
    _failed: Any = field(init=False)
    _open: Any = field(init=False, default=None)  # the trial that was proposed last

    def __post_init__(self) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=DRAWN_FIRST)
        self._study = optuna.create_study(sampler=sampler)
        self._failed = optuna.trial.TrialState.FAIL

    def next(self) -> Chosen:
        """The next choice. `learn` is called with what became of it before the next one."""
        self._open = self._study.ask()
        return {knob.name: knob.values[self._place(knob)] for knob in self.knobs}

    def learn(self, usd: float, too_late: float) -> None:
        """What became of the last choice: its price, and how far it is above the allowed share of late requests; 0 or
        less if it meets the goal."""
        self._open.set_constraint("late", too_late)
        self._study.tell(self._open, usd)

    def skip(self) -> None:
        """Nothing is learned from the last choice: what becomes of it is known already."""
        self._study.tell(self._open, state=self._failed)

    def tell(self, chosen: Chosen, usd: float, too_late: float) -> None:
        """What became of a choice that was not proposed here."""
        self._study.enqueue_trial({knob.name: knob.values.index(chosen[knob.name]) for knob in self.knobs})
        self.next()
        self.learn(usd, too_late)

    def _place(self, knob: Knob) -> int:
        """The number of the proposed value."""
        places = range(len(knob.values))
        if knob.ordered:
            number: int = self._open.suggest_int(knob.name, 0, places[-1])
        else:
            number = self._open.suggest_categorical(knob.name, list(places))
        return number
