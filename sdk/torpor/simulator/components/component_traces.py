"""The requests of an endpoint's components as one trace, merged from the ledger's variants."""

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from torpor.workloads import Chunk, LedgerFile
from torpor.workloads.trace import Sizes


def model_name(component: str, model: str) -> str:
    """How the trace names a model of a component of many."""
    return f"{component}/{model}"


def dict_of_numbers() -> defaultdict[str, int]:
    """A number for each key, in the order in which they are first asked for."""
    made: defaultdict[str, int] = defaultdict()
    made.default_factory = made.__len__
    return made


@dataclass(frozen=True, eq=False)
class MergedTrace:
    """The requests of an endpoint's components, each for a model with the component's name; in a component of many
    models, `many`, for `COMPONENT/MODEL`; in one with adapters, `adapted`, for what they name. All of them are in
    memory while they are read."""

    parts: Mapping[str, Sequence[LedgerFile]] = field(repr=False)  # by component: a variant for each generation
    many: Container[str] = frozenset()
    adapted: Container[str] = frozenset()
    _numbers: defaultdict[str, int] = field(default_factory=dict_of_numbers, repr=False)

    @property
    def names(self) -> Sequence[str]:
        return list(self._numbers)

    @property
    def lasts_s(self) -> float | None:
        known = [part.lasts_s for part in self._files]
        return max((lasts_s for lasts_s in known if lasts_s is not None), default=None)

    @property
    def _files(self) -> list[LedgerFile]:
        return [part for parts in self.parts.values() for part in parts]

    def chunks(self) -> Iterator[Chunk]:
        found = [
            (self._models(component, part, chunk), chunk)
            for component, parts in self.parts.items()
            for part in parts
            for chunk in part.chunks()
        ]
        times_s = np.concatenate([chunk.times_s for _, chunk in found])
        models = np.concatenate([numbers for numbers, _ in found])
        sizes = np.concatenate([_sizes(chunk) for _, chunk in found])
        order = np.argsort(times_s, kind="stable")
        yield Chunk(times_s[order], models[order], sizes[order])

    def _models(self, component: str, part: LedgerFile, chunk: Chunk) -> NDArray[np.int32]:
        """The numbers of the chunk's models in `names`."""
        if component in self.many:
            named = [model_name(component, name) for name in part.names]
        elif component in self.adapted:
            named = [component if name == part.variant else name for name in part.names]
        else:
            return np.full(len(chunk), self._numbers[component], np.int32)
        of_part = [self._numbers[name] for name in named]
        return np.array(of_part, np.int32)[chunk.models]


# -- inside ------------------------------------------------------------------------------------------------------------
def _sizes(chunk: Chunk) -> Sizes:
    return np.zeros(len(chunk), np.int64) if chunk.request_bytes is None else chunk.request_bytes
