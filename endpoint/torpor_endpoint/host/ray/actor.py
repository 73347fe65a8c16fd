"""The actor of one slot: keeps an instance on the node where Ray puts it, and reports of it.

When the instance ends, the endpoint learns it and launches again. While no endpoint asks, the actor itself ends after a
while: Ray starts it again, maybe elsewhere, as it does when its node is lost. Its instance is then a new incarnation.
"""

import os
import secrets
import threading
import time
from importlib.metadata import version

from torpor_container.transport.greeting import secret_of
from torpor_endpoint.host.ray.driver_messages import ActorReport, Order
from torpor_endpoint.host.ray.node import NodeFolder, NodeInstance

LINGER_S = 20.0
"""How long an actor whose instance has ended waits for an endpoint that asks for the end."""
LOOK_S = 0.25


class DifferentVersion(Exception):
    """The node has another Torpor than the endpoint."""


class InstanceActor:
    """Its methods run on threads of the actor's process, several at once."""

    def __init__(self, order: Order) -> None:
        """Raises DifferentVersion, OSError."""
        import ray

        check_version(order["version"])
        self._order = order
        restart = secrets.token_hex(4)
        self._incarnation = f"{order['launch']}-{restart}"
        self._address: str = ray.util.get_node_ip_address()
        self._node: str = ray.get_runtime_context().get_node_id()
        self._since_s = time.time()
        secret = secret_of(bytes.fromhex(order["secret"]), restart)
        self._instance = NodeInstance(order, self._incarnation, secret, self._address)
        self._asked_s = time.monotonic()
        threading.Thread(target=self._leave, daemon=True).start()

    def report(self, known: str, offset: int | None, within_s: float) -> ActorReport:
        """The state, and the output from an offset on. If there is no news for whoever knows the incarnation `known`,
        it waits up to `within_s`."""
        instance, until_s = self._instance, time.monotonic() + within_s
        while True:
            self._asked_s = time.monotonic()
            ended = instance.ended  # before the output, which is whole then
            begin, output = instance.output.read(offset if known == self._incarnation else None)
            news = output or ended is not None or known != self._incarnation
            if news or time.monotonic() >= until_s:
                return self._report(ended, begin, output)
            instance.end.wait(LOOK_S)

    def stop(self, grace_s: float) -> None:
        """End the instance: by SIGTERM, and after `grace_s` by force."""
        self._instance.stop(grace_s)

    def _report(self, ended: str | None, offset: int, output: bytes) -> ActorReport:
        return ActorReport(
            incarnation=self._incarnation,
            host=self._address,
            port=self._instance.port,
            since_s=self._since_s,
            node=self._node,
            ended=ended,
            output=output,
            offset=offset,
            asked=self._order["asked"],
            container=self._order["container"],
            instance=self._order["instance"],
            configuration=self._order["configuration"],
        )

    def _leave(self) -> None:
        """End this process some time after its instance, unless somebody who will launch again is there."""
        self._instance.end.wait()
        while time.monotonic() - self._asked_s < LINGER_S:
            time.sleep(1.0)
        os._exit(1)


def check_version(wanted: str) -> None:
    """Raises DifferentVersion."""
    if (found := version("torpor")) != wanted:
        raise DifferentVersion(f"the node has Torpor {found}, and the endpoint {wanted}: install the same on all nodes")


def vacate(deployment: str, endpoint: str, variant: str | None) -> None:
    """Remove disks of instances on this node."""
    NodeFolder(deployment, os.environ).vacate(endpoint, variant)


def sweep(deployment: str, kept: list[tuple[str, str]]) -> None:
    """Remove all disks on this node but those of these variants."""
    NodeFolder(deployment, os.environ).sweep(kept)
