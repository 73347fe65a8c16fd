"""The rows that a router has, put together: whatever differences come, what it serves is what the control has."""

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.core.routing.table_differences import Differences, TableSource, TableVersion
from torpor_endpoint.host import Launched, Phase, Slot
from torpor_endpoint.routing.protocol.routing_table import (
    EndpointRow,
    InstanceRow,
    RoutedEndpoint,
    RoutedInstance,
    RoutedVariant,
    RoutingTable,
    TableRow,
)
from torpor_endpoint.routing.router.known_rows import KnownRows

VARIANT = RoutedVariant(Variant("v", "m", (Container("torpor"),)), 0, None, {})
ENDPOINTS, INSTANCES = ("a", "ab"), ("i-1", "i-2", "i-3")
Instances = dict[tuple[str, str], bool]
"""By endpoint and instance: whether it is of the fleet that a rollout brings."""
CHANGES = st.tuples(
    st.sets(st.sampled_from(ENDPOINTS)),
    st.dictionaries(st.tuples(st.sampled_from(ENDPOINTS), st.sampled_from(INSTANCES)), st.booleans()),
    st.booleans(),
)


def rows(endpoints: set[str], instances: Instances) -> dict[str, TableRow]:
    found: dict[str, TableRow] = {}
    for name in endpoints:
        found[name] = EndpointRow(RoutedEndpoint(name, "arn", None, (VARIANT,), (VARIANT,)))
    for (endpoint, one), coming in instances.items():
        if endpoint in endpoints:
            launched = Launched(Slot(endpoint, "v", 0), one, "/run/i", Phase.RUNNING)
            row = InstanceRow(RoutedInstance(endpoint, "v", coming, one, (launched,)))
            found[row.instance.key] = row
    return found


def table(told: Differences[str, TableRow]) -> RoutingTable:
    endpoints = tuple(row.endpoint for row in told.rows.values() if isinstance(row, EndpointRow))
    instances = tuple(row.instance for row in told.rows.values() if isinstance(row, InstanceRow))
    return RoutingTable(told.version, endpoints, told.since, told.gone, instances)


@given(st.lists(CHANGES))
def test_what_is_put_together_is_what_the_source_has(changes: list[tuple[set[str], Instances, bool]]) -> None:
    source, known = TableSource[str, TableRow]("life"), KnownRows()
    version: TableVersion | None = None
    served: dict[str, RoutedEndpoint] = {}
    present: dict[str, TableRow] = {}
    for endpoints, instances, is_away in changes:
        now = rows(endpoints, instances)
        source.update({**dict.fromkeys(present), **now})
        present = now
        if is_away:  # it gets this change with the next one
            continue
        told = source.since(version)
        gone, changed = known.take(table(told), whole=told.since is None)
        version = told.version
        for name in gone:
            served.pop(name, None)
        served |= {one.name: one for one in changed}
        assert served.keys() == endpoints
        for name, endpoint in served.items():
            for (variant,), coming in ((endpoint.variants, False), (endpoint.coming, True)):
                expected = {one for (at, one), when in instances.items() if (at, when) == (name, coming)}
                assert set(variant.instances) == expected
