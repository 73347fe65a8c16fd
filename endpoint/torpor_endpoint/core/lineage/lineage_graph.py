"""Walks through lineage: what an entity comes from, and what came of it. It holds values and does no I/O."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torpor_endpoint.core.lineage.lineage_records import LineageAssociation, LineageEntity

ASCENDANTS, DESCENDANTS, BOTH = "Ascendants", "Descendants", "Both"
DEPTH_MAX = 10
"""How far QueryLineage walks where no MaxDepth is given."""


@dataclass(frozen=True)
class Walked:
    """What a walk found: each entity with the edges by which it was met, the nearest first."""

    entities: Mapping[str, tuple[LineageAssociation, ...]]


class LineageGraph:
    """The entities by their ARNs, and the associations between them."""

    def __init__(self, entities: Iterable[LineageEntity], associations: Iterable[LineageAssociation]) -> None:
        """Of two entities or associations with one name, the first counts."""
        self.entities: dict[str, LineageEntity] = {}
        self.associations: dict[str, LineageAssociation] = {}
        for entity in entities:
            self.entities.setdefault(entity.name, entity)
        for edge in associations:
            if edge.source in self.entities and edge.destination in self.entities:
                self.associations.setdefault(edge.name, edge)
        self._after: dict[str, list[LineageAssociation]] = defaultdict(list)
        self._before: dict[str, list[LineageAssociation]] = defaultdict(list)
        for edge in self.associations.values():
            self._after[edge.source].append(edge)
            self._before[edge.destination].append(edge)

    def touching(self, arn: str) -> list[LineageAssociation]:
        """The associations of an entity."""
        return [*self._before.get(arn, ()), *self._after.get(arn, ())]

    def leads(self, source: str, destination: str) -> bool:
        """Whether one comes of the other, by however many steps, or is the other."""
        return source == destination or destination in self._way({source}, DESCENDANTS, len(self.entities))

    def walk(self, starts: Iterable[str], direction: str, depth: int) -> Walked:
        """What comes of the starts (descendants), what they come from (ascendants), or both, within so many steps. The
        starts themselves are not among it."""
        begun = set(starts)
        found: dict[str, list[LineageAssociation]] = {}
        for way in (ASCENDANTS, DESCENDANTS):
            if direction in (way, BOTH):
                for arn, edges in self._way(begun, way, depth).items():
                    known = found.setdefault(arn, [])
                    known += [edge for edge in edges if edge not in known]
        return Walked({arn: tuple(edges) for arn, edges in found.items()})

    def _way(self, begun: set[str], direction: str, depth: int) -> dict[str, list[LineageAssociation]]:
        steps = self._after if direction == DESCENDANTS else self._before
        found: dict[str, list[LineageAssociation]] = {}
        level = set(begun)
        for _ in range(depth):
            met: set[str] = set()
            for arn in sorted(level):
                for edge in steps.get(arn, ()):
                    other = edge.destination if direction == DESCENDANTS else edge.source
                    if other in begun:
                        continue
                    if other not in found:
                        met.add(other)
                    found.setdefault(other, []).append(edge)
            if not met:
                break
            level = met
        return found
