"""The routing table, whole or what changed in it: all that a router must know of the endpoints in service, as values
and as JSON.

An endpoint has a row, and each of its instances has one of its own: an instance that comes costs as much as one row,
however many others there are. The key of an endpoint's row is its name, and that of an instance's begins with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from json import dumps
from typing import Any, NamedTuple

from torpor_container.transport.address import Address, GuardedAddress
from torpor_container.transport.peers.peer_tls import PeerTls
from torpor_container.typed_json import read, written
from torpor_endpoint.core.model_choice.served_groups import ServedGroup
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.routing.table_differences import Differences, TableVersion
from torpor_endpoint.core.versions.version_answers import AnsweringVersions
from torpor_endpoint.host import Launched, Phase, Slot
from torpor_endpoint.in_service.incarnation import StartTrouble

Json = dict[str, Any]


class RoutedName(NamedTuple):
    """What answers one name with versions: JSON has no numbers as keys."""

    name: str
    artifacts: tuple[tuple[int, str], ...]
    default: int | None
    labels: Mapping[str, int]
    fault: str

    @classmethod
    def of(cls, name: str, versions: AnsweringVersions) -> "RoutedName":
        return cls(name, tuple(versions.artifacts.items()), versions.default, versions.labels, versions.fault)

    def answering(self) -> AnsweringVersions:
        """The same, as the router resolves targets by it."""
        return AnsweringVersions(dict(self.artifacts), self.default, self.labels, self.fault)


class RoutedVariant(NamedTuple):
    """A variant in service. `wanted` is the number of instances that the control wants now. `instances` are those that
    take requests: by the incarnation of each, its containers' own launches; in a table they are rows of their own.
    `versions` has what answers the names with versions, and is None for a variant without; so with `groups`."""

    variant: Variant
    wanted: int
    trouble: StartTrouble | None
    instances: Mapping[str, tuple[Launched, ...]]
    versions: tuple[RoutedName, ...] | None = None
    groups: Mapping[str, ServedGroup] | None = None


class RoutedEndpoint(NamedTuple):
    """During a rollout, `coming` has the variants of the fleet that it brings, without those whose instances serve both
    configurations, and `shares` each variant's part of the traffic that goes to that fleet."""

    name: str
    arn: str
    trouble: str | None
    variants: tuple[RoutedVariant, ...]
    coming: tuple[RoutedVariant, ...] = ()
    shares: Mapping[str, float] | None = None


class RoutedInstance(NamedTuple):
    """An instance that takes requests of a variant. `coming`: the variant is of the fleet that a rollout brings.
    Routers get the incarnation and the address of its containers, and no more: a log is where only the control can
    read it."""

    endpoint: str
    variant: str
    coming: bool
    id: str
    containers: tuple[Launched, ...]

    @property
    def key(self) -> str:
        return f"{self.endpoint}{SEPARATOR}{self.id}"


SEPARATOR = "/"
"""No endpoint's name has one."""


def endpoint_of(key: str) -> str:
    """The endpoint of a row with this key."""
    return key.partition(SEPARATOR)[0]


class RoutingTable(NamedTuple):
    """Endpoints and instances as they are in a version: all of them, or those that changed after the version's number
    `since`. `gone` has the keys of the rows that left after it. An endpoint that changed has all its variants here,
    without instances."""

    version: TableVersion
    endpoints: tuple[RoutedEndpoint, ...]
    since: int | None = None
    gone: tuple[str, ...] = ()
    instances: tuple[RoutedInstance, ...] = ()

    @classmethod
    def read(cls, json: Mapping[str, Any], peers: PeerTls | None = None) -> "RoutingTable":
        """Reads what `table_text` has written. `peers` has what this process proves itself with to instances that speak
        TLS. Raises KeyError, TypeError, ValueError for what is no table of this release."""
        endpoints = [
            RoutedEndpoint(
                one["name"],
                one["arn"],
                one["trouble"],
                tuple(map(_variant, one["variants"])),
                tuple(map(_variant, one["coming"])),
                one["shares"],
            )
            for one in json["endpoints"]
        ]
        instances = tuple(_instance(one, peers) for one in json["instances"])
        return cls(TableVersion(*json["version"]), tuple(endpoints), json["since"], tuple(json["gone"]), instances)


class EndpointRow:
    """An endpoint in the control's table, and its JSON: made once, however many routers get it."""

    def __init__(self, endpoint: RoutedEndpoint) -> None:
        self.endpoint = endpoint

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EndpointRow) and self.endpoint == other.endpoint

    __hash__ = None  # type: ignore[assignment]  # a value with mappings

    @cached_property
    def text(self) -> str:
        one = self.endpoint
        return dumps(
            {
                "name": one.name,
                "arn": one.arn,
                "trouble": one.trouble,
                "variants": [_variant_json(variant) for variant in one.variants],
                "coming": [_variant_json(variant) for variant in one.coming],
                "shares": None if one.shares is None else dict(one.shares),
            },
            separators=(",", ":"),
        )


class InstanceRow:
    """An instance in the control's table, and its JSON: made once, however many routers get it."""

    def __init__(self, instance: RoutedInstance) -> None:
        self.instance = instance
        self.place = instance.variant, instance.coming
        self.launched = instance.containers[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InstanceRow) and self.instance == other.instance

    __hash__ = None  # type: ignore[assignment]  # as `EndpointRow`

    @cached_property
    def text(self) -> str:
        one = self.instance
        containers = [{"id": each.incarnation, **_address_json(each.placed_at)} for each in one.containers]
        known: Json = {"endpoint": one.endpoint, "variant": one.variant, "coming": one.coming}
        return dumps(
            {**known, "slot": one.containers[0].slot.number, "id": one.id, "containers": containers},
            separators=(",", ":"),
        )


TableRow = EndpointRow | InstanceRow


def table_text(told: Differences[str, TableRow]) -> str:
    """The JSON that `RoutingTable.read` reads."""
    version, since, gone = dumps(told.version), dumps(told.since), dumps(told.gone)
    endpoints = ",".join([row.text for row in told.rows.values() if isinstance(row, EndpointRow)])
    instances = ",".join([row.text for row in told.rows.values() if isinstance(row, InstanceRow)])
    rows = f'"endpoints":[{endpoints}],"instances":[{instances}]'
    return f'{{"version":{version},"since":{since},"gone":{gone},{rows}}}'


def _variant_json(one: RoutedVariant) -> Json:
    trouble, variant = written(one.trouble), written(one.variant)
    versions = None if one.versions is None else [written(name) for name in one.versions]
    named = {"variant": variant, "wanted": one.wanted, "trouble": trouble}
    groups = None if one.groups is None else {name: written(group) for name, group in one.groups.items()}
    return named | {"versions": versions, "groups": groups}


def _variant(one: Mapping[str, Any]) -> RoutedVariant:
    trouble = None if one["trouble"] is None else read(StartTrouble, one["trouble"])
    versions = None if one["versions"] is None else tuple(read(RoutedName, name) for name in one["versions"])
    groups = None if one["groups"] is None else {name: read(ServedGroup, two) for name, two in one["groups"].items()}
    return RoutedVariant(read(Variant, one["variant"]), one["wanted"], trouble, {}, versions, groups)


def _instance(one: Mapping[str, Any], peers: PeerTls | None) -> RoutedInstance:
    containers = _containers(Slot(one["endpoint"], one["variant"], one["slot"]), one["containers"], peers)
    return RoutedInstance(one["endpoint"], one["variant"], bool(one["coming"]), one["id"], containers)


def _containers(first: Slot, json: Sequence[Mapping[str, Any]], peers: PeerTls | None) -> tuple[Launched, ...]:
    return tuple(
        Launched(replace(first, container=at), one["id"], _address(one, peers), Phase.RUNNING)
        for at, one in enumerate(json)
    )


def _address_json(address: Address) -> Json:
    if isinstance(address, str):
        return {"socket": address}
    if isinstance(address, GuardedAddress):
        named = {"certified": address.name} if address.name else {}
        return {"host": address.host, "port": address.port, "secret": address.secret.hex(), **named}
    return {"host": address[0], "port": address[1]}


def _address(json: Mapping[str, Any], peers: PeerTls | None) -> Address:
    if "socket" in json:
        return str(json["socket"])
    if "secret" in json:
        return GuardedAddress(
            json["host"], json["port"], bytes.fromhex(json["secret"]), json.get("certified", ""), peers
        )
    return json["host"], json["port"]
