"""Profiles for models that a ledger lacks: the usual size of its models, and its laws' times at that size."""

from collections.abc import Callable

from torpor.simulator.fitting.fitted_variant import Fitted
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.pages.plain_figures import counted

SHOWN = 4


class StandIns(dict[str, ModelProfile]):
    """The profiles that were asked for, by model. Each is made when it is first asked for."""

    def __init__(self, by_law: Callable[[str], ModelProfile]) -> None:
        super().__init__()
        self._by_law = by_law

    @classmethod
    def of(cls, found: Fitted) -> "StandIns | None":
        """Those of a fitted ledger; None for a single-model variant, which loads no model."""
        return None if found.stand_in is None else cls(found.stand_in)

    def __missing__(self, name: str) -> ModelProfile:
        made = self[name] = self._by_law(name)
        return made

    def note(self) -> tuple[str, ...]:
        """A note on the models that the ledger lacks; none if it has all that were called."""
        if not self:
            return ()
        few = f"{', '.join(sorted(self)[:SHOWN])}{', …' if len(self) > SHOWN else ''}"
        models = counted(len(self), "model")
        return (f"{models} that the ledger lacks ({few}): the usual size, and the times of its other models at that",)
