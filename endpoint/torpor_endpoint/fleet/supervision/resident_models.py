"""The models in the memory of one container, as its reports tell them: first all, then what has changed.

A reading costs by what has changed, however many models there are.
"""

from collections.abc import Iterator

from torpor_container import wire


class ResidentModels:
    """They are those of the latest report."""

    def __init__(self) -> None:
        self.report = 0
        """The number of the latest report, to ask for what changes from now on; 0 before the first one."""
        self.mapped = 0
        """How many answer by a form that the machine's instances map."""
        self._rows: dict[str, tuple[wire.LoadedModel, float]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[wire.LoadedModel, float]]:
        """Each model, and when it was called last, by the clock of `take`."""
        return iter(list(self._rows.values()))

    @property
    def first(self) -> wire.LoadedModel | None:
        return next((model for model, _ in self._rows.values()), None)

    def take(self, told: wire.ToldModels, at_s: float) -> None:
        """Take in what a container told at this moment. One that knows no differences tells all, each time."""
        if "since" not in told:
            self._rows, self.mapped = {}, 0
        for name in told.get("gone", ()):
            self._drop(name)
        for model in told["models"]:
            self._drop(model["name"])
            self._rows[model["name"]] = (model, at_s - model["idle_s"])
            self.mapped += model.get("mapped", False)
        self.report = told.get("report", 0)

    def _drop(self, name: str) -> None:
        if (row := self._rows.pop(name, None)) is not None:
            self.mapped -= row[0].get("mapped", False)
