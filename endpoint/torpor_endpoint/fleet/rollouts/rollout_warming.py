"""Has the green fleet of a rollout load the models that the blue one has in memory, where its settings ask for it.

Each model is loaded by the instance that its calls will come to first. A model that cannot be loaded is left to its
first caller, who gets the reason.
"""

import logging
from collections.abc import Iterator

from torpor_account.log_lines import about
from torpor_container.transport.upstream import Headers
from torpor_endpoint.fleet.ahead_loading import InstanceAway, in_turns, named_to, resident, why_not_loaded
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.rollouts.two_fleets import TwoFleets
from torpor_endpoint.in_service.asked_tiers import because
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

AT_ONCE = 4
"""So many loads go on at the same time: blue instances serve on the same machine meanwhile."""

REASON = "the fleet that this one replaces has it in memory"

log = logging.getLogger(__name__)


async def warmed(fleets: TwoFleets) -> None:
    """Returns when the green fleet has tried all models that the blue one had at the beginning."""
    for blue, green in fleets.replaced_pools():
        if green.settings.rollout_warm and green.ready:
            holders = await resident(blue)
            loads = (
                _loaded(container, name, [*named_to(green, incarnation, name, holders[name]), because(REASON)])
                for name in sorted(holders)
                for incarnation, container in _at(green, name)
            )
            loaded = await in_turns(loads, AT_ONCE)
            text = "endpoint %s: the new fleet of variant %s has loaded %d of %d models"
            fields = about(endpoint=green.endpoint, variant=green.variant.name)
            log.info(text, green.endpoint, green.variant.name, sum(loaded), len(loaded), extra=fields)


def _at(green: InstancePool, name: str) -> Iterator[tuple[Incarnation, LiveContainer]]:
    """Where the calls of this model will come to; nowhere while no instance is ready."""
    for incarnation in green.ready.first(name, 1):
        yield from ((incarnation, one) for one in incarnation.containers if one.definition.multi_model)


async def _loaded(container: LiveContainer, name: str, named: Headers) -> bool:
    try:
        why = await why_not_loaded(container, name, named)
    except InstanceAway as error:
        why = str(error)
    if why is not None:
        log.warning("%s did not load %s before its first call: %s", container.id, name, why)
    return why is None
