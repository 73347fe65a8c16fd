"""Ray itself, as the driver uses it. Only the driver imports this."""

import logging
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import ray
from ray._private.state import state
from ray.exceptions import ActorUnavailableError, RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from torpor_endpoint.host.ray import actor
from torpor_endpoint.host.ray.advice import cause
from torpor_endpoint.host.ray.driver_messages import GONE, PENDING, Order, namespace_of
from torpor_endpoint.host.ray.ray_address import PREFIX

CALLS_AT_ONCE = 8
"""Questions of two endpoint processes, and calls to stop."""


class RayEngine:
    """The actors of one deployment on a cluster. Raises what `ray.init` raises."""

    def __init__(self, address: str, deployment: str) -> None:
        self._deployment = deployment
        self._namespace = namespace_of(deployment)
        self._by_client = address.startswith(PREFIX)
        ray.init(
            address=address,
            namespace=self._namespace,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        self._actor = ray.remote(actor.InstanceActor)

    def about(self) -> dict[str, Any]:
        """What the endpoint may want to know of the cluster."""
        addresses = sorted({str(node["NodeManagerAddress"]) for node in ray.nodes() if node["Alive"]})
        return {"ray": ray.__version__, "torpor": version("torpor"), "nodes": addresses}

    def names(self) -> list[str]:
        known = ray.util.list_named_actors(all_namespaces=True)
        return [one["name"] for one in known if one["namespace"] == self._namespace]

    def get(self, name: str) -> Any:
        return ray.get_actor(name, namespace=self._namespace)

    def create(self, order: Order) -> Any:
        asked = order["asked"]
        return self._actor.options(
            name=order["slot"],
            namespace=self._namespace,
            get_if_exists=True,
            lifetime="detached",
            max_restarts=-1,
            max_task_retries=0,
            max_concurrency=CALLS_AT_ONCE,
            num_cpus=asked.get("CPU", 0.0),
            num_gpus=asked.get("GPU", 0.0),
            memory=asked.get("memory"),
            scheduling_strategy="SPREAD",
        ).remote(order)

    def call(self, handle: Any, method: str, *arguments: Any) -> Any:
        return getattr(handle, method).remote(*arguments).future()

    def kill(self, handle: Any) -> None:
        ray.kill(handle, no_restart=True)

    def sizes(self) -> tuple[list[Mapping[str, float]], Mapping[str, float]]:
        return [node["Resources"] for node in ray.nodes() if node["Alive"]], ray.available_resources()

    def draining(self) -> Mapping[str, float]:
        """Ray Serve's controller asks the same: Ray has no public call for it. A Ray Client has none at all."""
        if self._by_client:
            return {}
        return {node: until_ms / 1000 for node, until_ms in state.get_draining_nodes().items()}

    def fault(self, error: BaseException) -> tuple[str, str]:
        if isinstance(error, ActorUnavailableError):
            return PENDING, ""
        if isinstance(error, RayActorError | RayTaskError):
            return GONE, cause(str(error))
        raise error

    def on_all_nodes(self, function: Callable[..., None], *arguments: Any) -> list[Any]:
        """Call a function on each node, whatever else runs there: futures."""
        task = ray.remote(function)
        nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
        return [self._on(node, task, arguments) for node in nodes]

    def _on(self, node: str, task: Any, arguments: Sequence[Any]) -> Any:
        here = NodeAffinitySchedulingStrategy(node, soft=False)
        return task.options(num_cpus=0, max_retries=0, scheduling_strategy=here).remote(*arguments).future()
