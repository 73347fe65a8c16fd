"""Makes the page's view of the whole endpoint from the fleet's records and the collector's readings. It asks nobody.

A snapshot has four members, each a table of records by key. No value is null, since the feed sends differences as merge
patches. A model's row is `[size_bytes, used_s, hits, in_flight, format]`, where `used_s` is the time of its last use.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from torpor_account.storage.record_table import Card
from torpor_container import wire
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.dashboard.figures import VariantFigures
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.readings import InstanceReading
from torpor_endpoint.fleet.supervision.resident_models import ResidentModels
from torpor_endpoint.in_service.incarnation import Incarnation

Table = dict[str, Any]
NO_ROLLOUTS: Mapping[str, Table] = MappingProxyType({})
NO_COMPONENTS: Mapping[str, str] = MappingProxyType({})
OLD, NEW = "old", "new"


class ShownFleet(NamedTuple):
    """A pool of an endpoint. `role` is empty unless a rollout has brought another pool beside it; `share` is then its
    part of the variant's traffic."""

    endpoint: str
    variant: str
    pool: InstancePool
    role: str = ""
    share: float = 1.0

    @property
    def key(self) -> str:
        return f"{self.endpoint}/{self.variant}{f' {NEW}' if self.role == NEW else ''}"


def snapshot(
    cards: Iterable[Card],
    serving: Iterable[FleetEndpoint],
    readings: Mapping[str, InstanceReading],
    figures: Mapping[tuple[str, str], VariantFigures],
    before: Mapping[str, Any],
    rollouts: Mapping[str, Table] = NO_ROLLOUTS,
    components: Mapping[str, str] = NO_COMPONENTS,
) -> Table:
    """The tables `endpoints`, `variants`, `instances` and `models`.

    `cards` are all stored endpoints, also those that are not in service. `before` is the previous snapshot, or empty.
    `components` has the status of each inference component. During a rollout a variant has a row for each of its
    fleets; the figures are of both, and stand with the old one.
    """
    by_name = {live.name: live for live in serving}
    fleets = [fleet for live in by_name.values() for fleet in _fleets(live)]
    running = [(fleet, one) for fleet in fleets for one in fleet.pool.incarnations]
    known = before.get("models", {})
    return {
        "endpoints": {card.name: _endpoint(card, by_name.get(card.name), rollouts.get(card.name)) for card in cards},
        "variants": {
            fleet.key: {
                **_variant(fleet, figures.get((fleet.endpoint, fleet.variant)) if fleet.role != NEW else None),
                **_component(fleet, components),
            }
            for fleet in fleets
        },
        "instances": {one.id: _instance(fleet, one, readings.get(one.id)) for fleet, one in running},
        "models": {
            key: _models(models, known.get(key, {}))
            for _, one in running
            if (reading := readings.get(one.id)) is not None
            for name, models in reading.models.items()
            for key in (f"{one.id}/{name}",)
        },
    }


def size_of(variant: Variant) -> str:
    """The size of the variant's instances in words: `ml.m5.large`, `serverless, 2048 MiB`, `1024 MiB of v`."""
    if variant.copies is not None:
        return f"{variant.copies.bound_mib} MiB of {variant.copies.placed_on}"
    return f"serverless, {variant.serverless.memory_mib} MiB" if variant.serverless else variant.instance_type or ""


def model_data_of(variant: Variant) -> tuple[str, bool]:
    """The S3 address of the variant's models, and whether it is a prefix of many. Of several containers, it is that of
    the one that serves many models, or else of the first."""
    if variant.for_components:
        return "", False
    container = next((one for one in variant.containers if one.multi_model), variant.containers[0])
    return container.model_data_url or "", container.multi_model


# -- one record each ---------------------------------------------------------------------------------------------------
def _fleets(live: FleetEndpoint) -> Iterator[ShownFleet]:
    shift = live.shift
    for name, pool in live.pools.items():
        green = shift.pools.get(name) if shift is not None else None
        if shift is None or green is None or green is pool:
            yield ShownFleet(live.name, name, pool)
        else:
            share = shift.shares.get(name, 0.0)
            yield ShownFleet(live.name, name, pool, OLD, 1.0 - share)
            yield ShownFleet(live.name, name, green, NEW, share)


def _endpoint(card: Card, live: FleetEndpoint | None, rollout: Table | None) -> Table:
    trouble = live.trouble if live is not None else None
    return {
        "status": card.status or "",
        "created_s": card.created_s,
        **({"trouble": trouble} if trouble else {}),
        **({"rollout": rollout} if rollout else {}),
    }


def _variant(fleet: ShownFleet, figures: VariantFigures | None) -> Table:
    pool = fleet.pool
    ready = len(list(pool.ready))
    model_data_url, multi_model = model_data_of(pool.variant)
    return {
        "endpoint": fleet.endpoint,
        "name": fleet.variant,
        **({"fleet": fleet.role, "share": fleet.share} if fleet.role else {}),
        "shadow": pool.variant.shadow,
        "size": size_of(pool.variant),
        "weight": pool.variant.weight,
        "model_data_url": model_data_url,
        "multi_model": multi_model,
        "wanted": pool.size,
        "ready": ready,
        "leaving": pool.leaving,
        "held": pool.traffic.held,
        "state": state_of_pool(pool.size, ready),
        **({"trouble": pool.trouble.reason} if pool.trouble else {}),
        **(figures.record() if figures is not None else {}),
    }


def _component(fleet: ShownFleet, statuses: Mapping[str, str]) -> Table:
    """What the row of an inference component's copies has beside a variant's, or that of the instances below them."""
    variant = fleet.pool.variant
    if variant.copies is None:
        return {"capacity": True} if variant.for_components else {}
    name, status = variant.copies.component, statuses.get(variant.copies.component)
    return {"component": name, **({"status": status} if status else {})}


def state_of_pool(wanted: int, ready: int) -> str:
    """`asleep`: no instance is wanted. `starting`: none is ready yet. `awake`: requests are answered at once."""
    if ready:
        return "awake"
    return "starting" if wanted else "asleep"


def _instance(fleet: ShownFleet, one: Incarnation, reading: InstanceReading | None) -> Table:
    pool = fleet.pool
    parts = [] if reading is None else [_part(name, status) for name, status in reading.statuses.items()]
    return {
        "endpoint": fleet.endpoint,
        "variant": fleet.variant,
        **({"fleet": fleet.role} if fleet.role else {}),
        "slot": one.slot.number,
        "phase": str(one.phase),
        "in_flight": one.in_flight,
        "parts": parts,
        **({"place": place} if (place := pool.place_of(one.slot.number)) else {}),
        **({"type": pool.type_in(one.slot.number)} if pool.variant.for_components else {}),
        **_since(pool.life_of(one)),
    }


def _since(life: InstanceLife) -> Table:
    ready = {} if life.ready_s is None else {"ready_s": life.ready_s}
    return {"started_s": life.started_s, "why_started": life.why_started, **ready}


def _part(name: str, status: wire.InstanceStatus) -> Table:
    """One container of an instance."""
    return {
        "name": name,
        "kept": status["kept"],
        "budget_bytes": status["budget_bytes"],
        "used_bytes": status["used_bytes"],
        "own_bytes": status.get("own_bytes", 0),
        "disk_bytes": status["disk_bytes"],
        "disk_budget_bytes": status["disk_budget_bytes"],
        **_on_device(status.get("device")),
    }


def _on_device(device: wire.DeviceStatus | None) -> Table:
    if device is None:
        return {}
    bytes_there = {"device_bytes": device["own_bytes"], "device_budget_bytes": device["budget_bytes"]}
    return {"device": device["name"], **bytes_there}


def _models(models: ResidentModels, before: Mapping[str, list[Any]]) -> Table:
    return {model["name"]: _model(model, used_s, before.get(model["name"])) for model, used_s in models}


def _model(model: wire.LoadedModel, used_s: float, before: list[Any] | None) -> list[Any]:
    """The model's row. Without a new hit the time of the last use stays what it was: its measurement would jitter."""
    size_bytes, hits, in_flight = model["size_bytes"], model["hits"], model["in_flight"]
    if before is not None and (before[0], before[2], before[3]) == (size_bytes, hits, in_flight):
        return before
    return [size_bytes, round(used_s, 1), hits, in_flight, model["format"]]
