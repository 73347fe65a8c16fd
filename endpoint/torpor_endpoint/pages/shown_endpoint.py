"""Reads what the pages show of an endpoint from its instances, which are asked at once."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence

from torpor_endpoint.core.pages import Json
from torpor_endpoint.core.pages.model_groups import group_states
from torpor_endpoint.core.pages.state import (
    MODELS_MAX,
    VariantTraffic,
    decision_page,
    endpoint_page,
    endpoints_page,
    instance_page,
    models_on,
    share_of,
    variant_page,
)
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.asked_state import NO_DECISIONS, state_of
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.pages.recent_traffic import RecentTraffic

TOGETHER = 10
"""The instances of so many endpoints are asked at once for a page."""


async def shown_page(
    endpoints: Sequence[FleetEndpoint], most: int, shown: Callable[[FleetEndpoint], Awaitable[Json]]
) -> bytes:
    """The first endpoints in JSON, `most` at most: fewer once they list MODELS_MAX models. It gives requests their turn
    after each endpoint."""
    page, listed = list[bytes](), 0
    for first in range(0, min(most, len(endpoints)), TOGETHER):
        together = endpoints[first : min(first + TOGETHER, most)]
        for found in await asyncio.gather(*map(shown, together)):
            if listed < MODELS_MAX:
                page.append(json.dumps(found).encode())
                listed += models_on(found)
                await asyncio.sleep(0)
        if listed >= MODELS_MAX:
            break
    more = endpoints[len(page) - 1].name if len(page) < len(endpoints) else ""
    return endpoints_page(page, more)


async def shown_endpoint(live: FleetEndpoint, traffic: RecentTraffic, most_models: int) -> Json:
    """The endpoint on its page, with `most_models` models of each container at most, and MODELS_MAX of the endpoint:
    those that were called last."""
    pools = live.by_key.items()
    containers = sum(len(incarnation.containers) for pool in live.every_pool for incarnation in pool.ready)
    most_models = share_of(most_models, containers)
    variants = await asyncio.gather(
        *(_variant(name, pool, traffic.of(live.name, name), most_models) for name, pool in pools)
    )
    return endpoint_page(live.name, live.trouble, variants)


async def _variant(name: str, pool: InstancePool, traffic: VariantTraffic, most_models: int) -> Json:
    instances = await asyncio.gather(
        *(_instance(one, pool.place_of(one.slot.number), most_models) for one in pool.ready)
    )
    return variant_page(
        name,
        weight=pool.variant.weight,
        wanted=pool.size,
        leaving=pool.leaving,
        held=pool.traffic.held,
        instances=instances,
        shadow=pool.variant.shadow,
        model_data_url=next((one.model_data_url or "" for one in pool.variant.containers if one.multi_model), ""),
        traffic=traffic,
        groups=() if pool.groups is None else group_states(pool.groups.names),
    )


async def _instance(incarnation: Incarnation, place: str, most_models: int) -> Json:
    containers = list(incarnation.containers)
    states = await asyncio.gather(*(state_of(one, after=NO_DECISIONS, most=most_models) for one in containers))
    named = [(one.name, state) for one, state in zip(containers, states, strict=True)]
    return instance_page(incarnation.id, str(incarnation.slot), incarnation.in_flight, named, place, most_models)


async def decisions_of(incarnation: Incarnation, model: str) -> list[Json]:
    """What the containers of an instance have decided about a model, as far as they keep it."""
    containers = list(incarnation.containers)
    states = await asyncio.gather(*(state_of(one, model=model) for one in containers))
    return [
        decision_page(decision, incarnation.id, container.name if len(containers) > 1 else "")
        for container, state in zip(containers, states, strict=True)
        for decision in (state["decisions"] if state else ())
    ]
