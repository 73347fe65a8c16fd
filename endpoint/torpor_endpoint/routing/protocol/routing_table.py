"""The routing table: all that a router must know of the endpoints in service, as values and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torpor_container.transport.address import Address, GuardedAddress
from torpor_container.typed_json import read, written
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.in_service.incarnation import StartTrouble

Json = dict[str, Any]


class RoutedContainer(NamedTuple):
    """One process of an instance: its own incarnation, and where it listens."""

    id: str
    address: Address


class RoutedInstance(NamedTuple):
    """An instance that takes requests."""

    slot: int
    id: str
    containers: tuple[RoutedContainer, ...]


class RoutedVariant(NamedTuple):
    """A variant in service. `wanted` is the number of instances that the control wants now."""

    variant: Variant
    wanted: int
    trouble: StartTrouble | None
    instances: tuple[RoutedInstance, ...]


class RoutedEndpoint(NamedTuple):
    name: str
    arn: str
    trouble: str | None
    variants: tuple[RoutedVariant, ...]


class TableVersion(NamedTuple):
    """`control` names one life of the control; numbers rise within it."""

    control: str
    number: int


class RoutingTable(NamedTuple):
    version: TableVersion
    endpoints: tuple[RoutedEndpoint, ...]

    def json(self) -> Json:
        """What `read` reads."""
        endpoints = [
            {
                "name": one.name,
                "arn": one.arn,
                "trouble": one.trouble,
                "variants": [_variant_json(variant) for variant in one.variants],
            }
            for one in self.endpoints
        ]
        return {"version": list(self.version), "endpoints": endpoints}

    @classmethod
    def read(cls, json: Mapping[str, Any]) -> "RoutingTable":
        """Raises KeyError, TypeError, ValueError for what is no table of this release."""
        endpoints = [
            RoutedEndpoint(one["name"], one["arn"], one["trouble"], tuple(map(_variant, one["variants"])))
            for one in json["endpoints"]
        ]
        return cls(TableVersion(*json["version"]), tuple(endpoints))


def _variant_json(one: RoutedVariant) -> Json:
    instances = [
        {
            "slot": instance.slot,
            "id": instance.id,
            "containers": [{"id": process.id, **_address_json(process.address)} for process in instance.containers],
        }
        for instance in one.instances
    ]
    trouble, variant = written(one.trouble), written(one.variant)
    return {"variant": variant, "wanted": one.wanted, "trouble": trouble, "instances": instances}


def _variant(json: Mapping[str, Any]) -> RoutedVariant:
    instances = [RoutedInstance(one["slot"], one["id"], _containers(one["containers"])) for one in json["instances"]]
    return RoutedVariant(
        read(Variant, json["variant"]),
        json["wanted"],
        None if json["trouble"] is None else read(StartTrouble, json["trouble"]),
        tuple(instances),
    )


def _containers(json: Sequence[Mapping[str, Any]]) -> tuple[RoutedContainer, ...]:
    return tuple(RoutedContainer(one["id"], _address(one)) for one in json)


def _address_json(address: Address) -> Json:
    if isinstance(address, str):
        return {"socket": address}
    if isinstance(address, GuardedAddress):
        return {"host": address.host, "port": address.port, "secret": address.secret.hex()}
    return {"host": address[0], "port": address[1]}


def _address(json: Mapping[str, Any]) -> Address:
    if "socket" in json:
        return str(json["socket"])
    if "secret" in json:
        return GuardedAddress(json["host"], json["port"], bytes.fromhex(json["secret"]))
    return json["host"], json["port"]
