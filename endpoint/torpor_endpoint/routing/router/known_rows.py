"""The rows of the routing table that a router has, put together: each endpoint with the instances of its variants."""

from collections.abc import Iterable, Mapping

from torpor_endpoint.host import Launched
from torpor_endpoint.routing.protocol.routing_table import (
    SEPARATOR,
    RoutedEndpoint,
    RoutedInstance,
    RoutedVariant,
    RoutingTable,
    endpoint_of,
)

Instances = dict[str, tuple[Launched, ...]]
Place = tuple[str, bool]
"""A variant's name, and whether it is of the fleet that a rollout brings."""


class KnownRows:
    """All rows, as the last table left them."""

    def __init__(self) -> None:
        self._endpoints: dict[str, RoutedEndpoint] = {}
        self._instances: dict[str, RoutedInstance] = {}  # by key
        self._at: dict[str, dict[Place, Instances]] = {}  # by endpoint

    def take(self, table: RoutingTable, whole: bool) -> tuple[list[str], list[RoutedEndpoint]]:
        """Take up a table, which stands in place of all rows if it is the `whole` one. Returns the names of the
        endpoints that are gone, and the endpoints that have changed, each with its instances."""
        gone: Iterable[str] = table.gone
        if whole:
            gone = [*self._instances, *self._endpoints]
        left = dict.fromkeys(endpoint_of(key) for key in gone)
        for key in gone:
            if SEPARATOR in key:
                self._forget(key)
            else:
                self._endpoints.pop(key, None)
        for endpoint in table.endpoints:
            self._endpoints[endpoint.name] = endpoint
        for instance in table.instances:
            self._put(instance)
        names = {
            **left,
            **dict.fromkeys(one.name for one in table.endpoints),
            **dict.fromkeys(one.endpoint for one in table.instances),
        }
        changed = [self._whole(name) for name in names if name in self._endpoints]
        return [name for name in left if name not in self._endpoints], changed

    def _put(self, instance: RoutedInstance) -> None:
        self._forget(instance.key)
        self._instances[instance.key] = instance
        place = instance.variant, instance.coming
        self._at.setdefault(instance.endpoint, {}).setdefault(place, {})[instance.id] = instance.containers

    def _forget(self, key: str) -> None:
        instance = self._instances.pop(key, None)
        if instance is None:
            return
        places = self._at[instance.endpoint]
        place = instance.variant, instance.coming
        del places[place][instance.id]
        if not places[place]:
            del places[place]
        if not places:
            del self._at[instance.endpoint]

    def _whole(self, name: str) -> RoutedEndpoint:
        endpoint, places = self._endpoints[name], self._at.get(name, {})
        variants = tuple(_with(one, places, coming=False) for one in endpoint.variants)
        return endpoint._replace(
            variants=variants, coming=tuple(_with(one, places, coming=True) for one in endpoint.coming)
        )


def _with(variant: RoutedVariant, places: Mapping[Place, Instances], *, coming: bool) -> RoutedVariant:
    return variant._replace(instances=places.get((variant.variant.name, coming), {}))
