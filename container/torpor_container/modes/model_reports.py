"""Tells of the models in memory what a reader asks for: all of them, the latest ones, or what has changed.

It knows no clock and asks nobody.
"""

from collections.abc import Mapping, Sequence
from heapq import nsmallest

from torpor_container.errors import BadInput
from torpor_container.frozen_class import frozen
from torpor_container.wire import LoadedModel, ToldModels

Mark = tuple[object, ...]
"""What of a model makes news. A model that nobody calls grows idle, which is none."""
DIGITS = 19


class ModelReports:
    """The reports of differences to one reader, which names the last one that it has."""

    def __init__(self) -> None:
        self._number = 0
        self._told: dict[str, Mark] = {}

    def report(self, models: Sequence[LoadedModel], since: int) -> ToldModels:
        """The models that changed since the report of this number, and the names of those that have left; all models
        if the reader has another one, or none (0)."""
        known, whole = self._told, since != self._number or not since
        self._told = {model["name"]: _mark(model) for model in models}
        self._number += 1
        if whole:
            return {"models": list(models), "report": self._number}
        changed = [model for model in models if known.get(model["name"]) != self._told[model["name"]]]
        gone = list(known.keys() - self._told.keys())
        return {"models": changed, "report": self._number, "since": since, "gone": gone}


@frozen
class StateRequest:
    """What `GET /_torpor/state` asks for. `after` is a decision's number: the answer has later ones, and only those
    about `model` if it is given. Of the models, `most` asks for the latest called, `since` for differences, and
    `below` for those whose names begin so."""

    after: int = 0
    model: str | None = None
    most: int | None = None
    since: int | None = None
    below: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "StateRequest":
        """From the parameters of a query. Raises BadInput that names the one that is no number."""
        numbers = {name: given[name] for name in ("after", "most", "since") if name in given}
        for name, value in numbers.items():
            if not (value.isascii() and value.isdecimal() and len(value) <= DIGITS):
                raise BadInput(f"{name}={value[:100]!r} is not a number from 0")
        read = {name: int(value) for name, value in numbers.items()}
        return cls(model=given.get("model"), below=given.get("below", ""), **read)

    def told(self, models: Sequence[LoadedModel], reports: ModelReports) -> ToldModels:
        """Of these models, what is asked for."""
        if self.below:
            models = [model for model in models if model["name"].startswith(self.below)]
        if self.since is not None:
            return reports.report(models, self.since)
        if self.most is not None:
            latest = nsmallest(self.most, models, key=lambda model: model["idle_s"])
            return {"models": latest, "model_count": len(models)}
        return {"models": list(models)}


def _mark(model: LoadedModel) -> Mark:
    version = (model.get("artifact_version"), model.get("digest"), model.get("mapped"), model.get("workers"))
    return model["hits"], model["in_flight"], model["size_bytes"], model["format"], version
