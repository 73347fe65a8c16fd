"""A walk finds what leads to an entity and what came of it, and a cycle is seen before it is made."""

import pytest

from torpor_endpoint.core.lineage.lineage_graph import DEPTH_MAX, LineageGraph
from torpor_endpoint.core.lineage.lineage_records import EntityKind, LineageEntity, association

ENTITIES = [
    LineageEntity(name, EntityKind.ARTIFACT, name, "DataSet", {"SourceUri": name}, 0.0, 0.0) for name in "abcde"
]
GRAPH = LineageGraph(
    ENTITIES, [association(ends[0], ends[1], "Produced", 0.0) for ends in ("ab", "bc", "ad", "dc", "xz", "az", "xa")]
)


@pytest.mark.parametrize(
    ("start", "direction", "depth", "found"),
    [
        ("a", "Descendants", 10, "bdc"),
        ("a", "Descendants", 1, "bd"),
        ("c", "Ascendants", 10, "bda"),
        ("b", "Both", 10, "ac"),
        ("a", "Ascendants", 10, ""),
        ("e", "Both", 10, ""),
    ],
)
def test_a_walk_finds_the_nearest_first(start: str, direction: str, depth: int, found: str) -> None:
    assert "".join(GRAPH.walk([start], direction, depth).entities) == found


def test_an_entity_is_met_by_each_of_its_edges() -> None:
    assert [edge.source for edge in GRAPH.walk(["a"], "Descendants", 10).entities["c"]] == ["b", "d"]


def test_a_cycle_is_seen_before_it_is_made() -> None:
    assert GRAPH.leads("a", "c")
    assert GRAPH.leads("e", "e")
    assert not GRAPH.leads("c", "a")


def test_an_association_of_an_entity_that_is_gone_is_none() -> None:
    assert set(GRAPH.associations) == {"a b", "b c", "a d", "d c"}


def test_the_associations_of_an_entity_are_those_that_lead_to_it_and_from_it() -> None:
    assert [edge.name for edge in GRAPH.touching("b")] == ["a b", "b c"]
    assert GRAPH.touching("e") == []


def test_a_walk_from_several_entities_passes_over_them() -> None:
    assert "".join(GRAPH.walk(["a", "b"], "Descendants", DEPTH_MAX).entities) == "dc"


def test_an_edge_back_is_met_once() -> None:
    cycle = LineageGraph(ENTITIES, [association(ends[0], ends[1], "Produced", 0.0) for ends in ("ab", "bc", "cb")])
    assert [edge.name for edge in cycle.walk(["a"], "Descendants", DEPTH_MAX).entities["b"]] == ["a b", "c b"]


def test_a_query_walks_ten_steps_where_it_does_not_say() -> None:
    assert DEPTH_MAX == 10
