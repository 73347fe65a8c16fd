"""Torpor: a serverless multi-model endpoint that you run yourself.

    with torpor.local(models="./models") as endpoint:
        endpoint.invoke("Houston_TX.tar.gz", [[1995, 2100, 3, 2, 0.3, 2]])

A public name is imported when it is first used, so that `import torpor` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torpor.bundling import bundle
    from torpor.calling.answer import Answer
    from torpor.calling.caller import Caller
    from torpor.calling.connection import client
    from torpor.calling.invoke_errors import InvokeError, ModelError
    from torpor.confirming.plan_confirmation import Confirmation, confirm
    from torpor.errors import (
        EndpointFailed,
        EndpointRefused,
        EndpointUnreachable,
        MissingExtra,
        NoAnswer,
        NoResult,
        NotTorpor,
        TorporError,
    )
    from torpor.hosting.async_call import AsyncCall
    from torpor.hosting.local_endpoint import Local, local
    from torpor.simulator.choosing.choice_comparison import simulate_choice
    from torpor.simulator.choosing.choice_outcomes import ChoiceComparison
    from torpor.simulator.choosing.group_planning import GroupPlan, plan_choice, plan_group
    from torpor.simulator.components.component_scenario import ComponentScenario
    from torpor.simulator.components.component_setup import AdapterSetup, ComponentSetup, CopyScaling
    from torpor.simulator.components.components_result import ComponentsResult
    from torpor.simulator.components.components_run import simulate_components
    from torpor.simulator.nightly import Nightly, nightly
    from torpor.simulator.planning.cheapest_plan import plan
    from torpor.simulator.planning.plan_result import PlanResult
    from torpor.simulator.planning.plan_space import PlanSpace
    from torpor.simulator.scenario import BadScenario, Scenario
    from torpor.simulator.serverless_terms import Serverless
    from torpor.simulator.shadow_variant import ShadowVariant
    from torpor.simulator.simulation_result import SimulationResult
    from torpor.simulator.simulation_run import simulate
    from torpor.simulator.tuning.tune_result import TuneResult
    from torpor.simulator.tuning.tune_space import TuneSpace
    from torpor.simulator.tuning.tuned_variant import tune
    from torpor.workloads import BadTrace

    __version__: str

__all__ = [
    "AdapterSetup",
    "Answer",
    "AsyncCall",
    "BadScenario",
    "BadTrace",
    "Caller",
    "ChoiceComparison",
    "ComponentScenario",
    "ComponentSetup",
    "ComponentsResult",
    "Confirmation",
    "CopyScaling",
    "EndpointFailed",
    "EndpointRefused",
    "EndpointUnreachable",
    "GroupPlan",
    "InvokeError",
    "Local",
    "MissingExtra",
    "ModelError",
    "Nightly",
    "NoAnswer",
    "NoResult",
    "NotTorpor",
    "PlanResult",
    "PlanSpace",
    "Scenario",
    "Serverless",
    "ShadowVariant",
    "SimulationResult",
    "TorporError",
    "TuneResult",
    "TuneSpace",
    "__version__",
    "bundle",
    "client",
    "confirm",
    "local",
    "nightly",
    "plan",
    "plan_choice",
    "plan_group",
    "simulate",
    "simulate_choice",
    "simulate_components",
    "tune",
]

_SIMULATOR_EXTRA = "simulator"
_HOMES = {
    "bundle": "torpor.bundling",
    "client": "torpor.calling.connection",
    "Caller": "torpor.calling.caller",
    "Answer": "torpor.calling.answer",
    "AsyncCall": "torpor.hosting.async_call",
    "InvokeError": "torpor.calling.invoke_errors",
    "ModelError": "torpor.calling.invoke_errors",
    "local": "torpor.hosting.local_endpoint",
    "Local": "torpor.hosting.local_endpoint",
    "simulate": "torpor.simulator.simulation_run",
    "simulate_components": "torpor.simulator.components.components_run",
    "ChoiceComparison": "torpor.simulator.choosing.choice_outcomes",
    "GroupPlan": "torpor.simulator.choosing.group_planning",
    "plan_choice": "torpor.simulator.choosing.group_planning",
    "plan_group": "torpor.simulator.choosing.group_planning",
    "simulate_choice": "torpor.simulator.choosing.choice_comparison",
    "ComponentScenario": "torpor.simulator.components.component_scenario",
    "ComponentSetup": "torpor.simulator.components.component_setup",
    "ComponentsResult": "torpor.simulator.components.components_result",
    "CopyScaling": "torpor.simulator.components.component_setup",
    "AdapterSetup": "torpor.simulator.components.component_setup",
    "plan": "torpor.simulator.planning.cheapest_plan",
    "confirm": "torpor.confirming.plan_confirmation",
    "Confirmation": "torpor.confirming.plan_confirmation",
    "Scenario": "torpor.simulator.scenario",
    "Serverless": "torpor.simulator.serverless_terms",
    "ShadowVariant": "torpor.simulator.shadow_variant",
    "Nightly": "torpor.simulator.nightly",
    "nightly": "torpor.simulator.nightly",
    "PlanSpace": "torpor.simulator.planning.plan_space",
    "SimulationResult": "torpor.simulator.simulation_result",
    "PlanResult": "torpor.simulator.planning.plan_result",
    "tune": "torpor.simulator.tuning.tuned_variant",
    "TuneSpace": "torpor.simulator.tuning.tune_space",
    "TuneResult": "torpor.simulator.tuning.tune_result",
    "BadScenario": "torpor.simulator.scenario",
    "BadTrace": "torpor.workloads",
    "TorporError": "torpor.errors",
    "EndpointFailed": "torpor.errors",
    "EndpointRefused": "torpor.errors",
    "EndpointUnreachable": "torpor.errors",
    "MissingExtra": "torpor.errors",
    "NoAnswer": "torpor.errors",
    "NoResult": "torpor.errors",
    "NotTorpor": "torpor.errors",
}


def __dir__() -> list[str]:
    """The public names, for completion and `help`, without those whose extra is not installed."""
    from torpor.extras import missing

    absent = missing(_SIMULATOR_EXTRA)
    special = [name for name in globals() if name.startswith("__")]
    return sorted({*special, *(name for name in __all__ if not (absent and _is_simulators(name)))})


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("torpor")
    if name in _HOMES:
        if _is_simulators(name):
            from torpor.extras import require

            require(f"torpor.{name}", _SIMULATOR_EXTRA)
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _is_simulators(name: str) -> bool:
    return _HOMES.get(name, "").startswith(("torpor.confirming", "torpor.simulator", "torpor.workloads"))
