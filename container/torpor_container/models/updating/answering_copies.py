"""Says which copy of each model answers where newer versions are loaded beside older ones. It loads nothing."""

from torpor_container.core.occupancy import ModelStage
from torpor_container.core.residency import Residency
from torpor_container.core.versions.copy_names import other_copy


class AnsweringCopies:
    """What it keeps grows with the models that were overwritten an odd number of times while they were in memory."""

    def __init__(self, residency: Residency) -> None:
        self.moved: dict[str, str] = {}
        """The copy that answers, by model, where it is not the one with the model's own name."""
        self._residency = residency
        self._coming: set[str] = set()  # the models whose other copy is being loaded

    def of(self, model: str) -> str:
        """The copy that answers a call which begins now. While another one is loaded and the older one has left for
        want of room, calls wait for the newer one: two loads at once would only take the room from each other."""
        copy = self.moved.get(model, model)
        if model not in self._coming:
            return copy
        older = self._residency.get(copy)
        return other_copy(copy) if older is None or older.stage is ModelStage.LEAVING else copy

    def answering(self, model: str) -> str:
        """The copy that answers, whether the other one is being loaded or not."""
        return self.moved.get(model, model)

    def begin(self, model: str) -> None:
        """The other copy is being loaded from now on."""
        self._coming.add(model)

    def end(self, model: str) -> None:
        """It is not being loaded any more."""
        self._coming.discard(model)

    def switch(self, model: str) -> None:
        """The other copy answers the calls that begin from now on."""
        copy = other_copy(self.answering(model))
        if copy == model:
            del self.moved[model]
        else:
            self.moved[model] = copy
