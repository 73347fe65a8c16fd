"""The scenario of a variant as it ran: how it was set up, around what its ledger measured."""

from typing import Any

from torpor.simulator.fitting import Fitted, Memory
from torpor.simulator.scenario import ENVIRONMENT, MIB, Scenario
from torpor.simulator.serverless_terms import CONCURRENCY_MOST, SIZES_MIB
from torpor_container.settings import BY_VARIABLE
from torpor_endpoint.core.ledger_records import SERVERLESS
from torpor_endpoint.core.pricing.catalogue import CATALOGUE
from torpor_endpoint.core.resource_records import Serverless
from torpor_endpoint.core.variant_setup import VariantSetup

CHANGED = "how the variant was set up: as at last, for all of its requests; an update changed it meanwhile"


def as_it_ran(found: Fitted) -> Scenario:
    """The variant's measured figures (overhead, wake, memory), and its setup. Of a ledger without one, the size of its
    newest instance says whether it was serverless; otherwise it counts as always on."""
    around = Scenario(
        overhead_s=found.overhead_s,
        beside_load_s=found.beside_load_s,
        first_predict_s=found.first_predict_s,
        imports_s=found.imports_s,
    )
    if found.wake_s is not None:
        around = around.altered(wake_s=found.wake_s)
    memory = {} if found.memory is None else measured_memory(found.memory)
    around = around.altered(**memory, containers=found.containers)
    if found.setup is not None:
        return set_up(around, found.setup.setup)
    size_mib = serverless_mib(found.size)
    return around if size_mib is None else _serverless(around, Serverless(size_mib, CONCURRENCY_MOST))


def set_up(around: Scenario, setup: VariantSetup) -> Scenario:
    """The scenario with the setup of a variant."""
    settings = {
        name: BY_VARIABLE[variable].read(setup.settings[variable])
        for name, variable in ENVIRONMENT.items()
        if setup.settings.get(variable)
    }
    around = around.altered(**settings, model_cache=setup.model_cache, multi_model=setup.multi_model)
    instances = max(1, setup.instances)
    if setup.serverless is not None:
        return _serverless(around, setup.serverless)
    if setup.instances_min is None:
        return around.altered(instances=instances)
    most = max(1, setup.instances_min, setup.instances_max or instances)
    return around.altered(instances=instances, instances_min=setup.instances_min, instances_max=most)


def measured_memory(memory: Memory) -> dict[str, Any]:
    """The scenario fields for the memory of a ledger's instances: their type, if it is in the catalogue, their memory,
    and what they take of it beside their models."""
    known, memory_mib = CATALOGUE.get(memory.size), memory.budget_bytes / MIB
    own: dict[str, Any] = {"own_bytes": memory.own_bytes}
    if known is None:
        return own | {"memory_mib": memory_mib}
    as_its_type = known.memory_mib == memory_mib
    return own | {"instance_type": memory.size, "memory_mib": None if as_its_type else memory_mib}


def serverless_mib(size: str) -> int | None:
    """The memory of a serverless instance in MiB, by its size in the ledger; None for another instance."""
    found = size.removeprefix(SERVERLESS)
    return int(found) if found != size and found.isdecimal() and int(found) in SIZES_MIB else None


def setup_note(found: Fitted) -> tuple[str, ...]:
    """A note on a ledger that does not say how its variant was set up, or in which that changed."""
    if found.setup is not None:
        return (CHANGED,) if found.setup.changed else ()
    kind = "always on" if serverless_mib(found.size) is None else f"serverless, at most {CONCURRENCY_MOST} at once"
    return (
        f"how the variant was set up: {kind}, with Torpor's own settings, since an earlier version wrote the ledger",
    )


# -- inside ------------------------------------------------------------------------------------------------------------
def _serverless(around: Scenario, config: Serverless) -> Scenario:
    own_mib = None if around.memory_mib == config.memory_mib else around.memory_mib
    return around.altered(serverless=config, memory_mib=own_mib)
