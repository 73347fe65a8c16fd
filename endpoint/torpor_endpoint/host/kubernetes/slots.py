"""One slot as the host knows it: its launch, what the cluster shows of it, and the output of its incarnation."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.greeting import secret_of
from torpor_endpoint.host import Launched, LaunchSpec, Phase, Slot
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.manifests import PORT, Generation
from torpor_endpoint.host.kubernetes.object_names import CONFIGURATION, GENERATION, slot_digest
from torpor_endpoint.host.kubernetes.pod_output import PodOutput
from torpor_endpoint.host.kubernetes.pods import NO_POD, SeenPod, newest, why_no_pod
from torpor_endpoint.host.launch_names import log_name

if TYPE_CHECKING:
    from torpor_endpoint.peers.deployment_peers import DeploymentPeers

Object = dict[str, Any]

DELETED = SeenPod(Phase.EXITED, "its Deployment was deleted")
REPLACED = "it was replaced by another incarnation"
POD_REPLACED = "its pod was replaced by another one"


@dataclass(frozen=True)
class LaunchedDeployment:
    """A Deployment of this Torpor. `since_s`, in epoch seconds, is when it was made. The `uid` is empty if a launch was
    cut short, so that nobody knows whether there is one."""

    launch: Generation
    uid: str
    replicas: int
    since_s: float

    @classmethod
    def of(cls, found: Object, slot: Slot, deployment: str) -> "LaunchedDeployment":
        metadata = found["metadata"]
        made = datetime.fromisoformat(metadata["creationTimestamp"].replace("Z", "+00:00"))
        configuration = (metadata.get("annotations") or {}).get(CONFIGURATION, "")
        launch = Generation(slot, deployment, metadata["labels"][GENERATION], configuration)
        return cls(launch, metadata["uid"], int(found["spec"].get("replicas", 1)), made.timestamp())


class PodSlot:
    """A slot with a Deployment. `secret` is the Torpor's; `adopted` says that an earlier process launched it; `peers`
    names the certificate of each launch, and is None where no TLS is spoken.

    `label` is what all objects of this slot have, of whatever launch.
    """

    def __init__(
        self,
        client: KubernetesClient,
        made: LaunchedDeployment,
        secret: bytes,
        spec: LaunchSpec | None,
        adopted: bool,
        peers: "DeploymentPeers | None" = None,
    ) -> None:
        self.made = made
        self.spec = spec
        self.label = slot_digest(made.launch.slot)
        self._name = made.launch.name
        self._client = client
        self._secret = secret_of(secret, made.launch.generation)
        self._adopted = adopted
        self._peers = peers
        self._seen = NO_POD
        self._known = False  # whether the watch has shown its Deployment
        self._change = asyncio.Event()
        self._outputs: dict[str, PodOutput] = {}  # by incarnation

    @property
    def slot(self) -> Slot:
        return self.made.launch.slot

    def look(self, deployments: Mapping[str, Object], pods: Iterable[Object]) -> str:
        """Take in what the cluster shows now: the Deployments by name, and the pods of this slot. Returns the new
        reason for which it is pending, if there is one."""
        before, found = self._seen, deployments.get(self._name)
        present = found is not None and found["metadata"]["uid"] == self.made.uid
        self._known = self._known or present
        leaves = found is not None and found["metadata"].get("deletionTimestamp")  # in the foreground, or it is held
        self._seen = self._now(found if present and not leaves else None, pods)
        self._follow()
        self.wake()
        news = self._seen.phase is Phase.PENDING and self._seen.reason != before.reason
        return self._seen.reason if news else ""

    def _now(self, found: Object | None, pods: Iterable[Object]) -> SeenPod:
        if found is None:
            return DELETED if self._known else self._seen
        seen = newest(self.pods(pods))
        return replace(seen, reason=why_no_pod(found)) if seen is NO_POD else seen

    def pods(self, pods: Iterable[Object]) -> list[Object]:
        """Those of this launch, of the pods of its slot."""
        own = self.made.launch.generation
        return [pod for pod in pods if pod["metadata"]["labels"].get(GENERATION) == own]

    @property
    def present(self) -> Launched:
        """The incarnation of now."""
        return self._launched(self._seen)

    async def placed(self) -> Launched:
        """Wait until it runs or has ended, with the end of its output in the reason."""
        await self._until(lambda: self._seen.phase is not Phase.PENDING)
        seen = self._seen
        if seen.phase is Phase.RUNNING:
            return self._launched(seen)
        return replace(self._launched(seen), reason=f"{seen.reason}{await self._last_line(seen)}")

    async def exited(self) -> Launched:
        """Wait until the incarnation of now has ended, or the first one if there is none yet."""
        first = self._seen
        while not (self._seen.phase is Phase.EXITED or _another(first, self._seen)):
            await self._change.wait()
            first = first if first.incarnation else self._seen
        last = self._seen
        if last.phase is Phase.EXITED:
            reason = last.reason
        else:
            reason = last.before or REPLACED if last.pod == first.pod else POD_REPLACED
        ended = replace(first if first.incarnation else last, phase=Phase.EXITED, reason=reason)
        await self._last_line(ended)
        return self._launched(ended)

    def wake(self) -> None:
        """Have whoever waits look again."""
        self._change.set()
        self._change = asyncio.Event()

    async def changed(self) -> None:
        """Wait until the cluster shows something else, or `wake`."""
        await self._change.wait()

    async def close(self) -> None:
        """Follow its output no longer."""
        await asyncio.gather(*(output.close() for output in self._outputs.values()))

    async def _until(self, true: Callable[[], bool]) -> None:
        while not true():
            await self._change.wait()

    def _launched(self, seen: SeenPod) -> Launched:
        running = seen.phase is Phase.RUNNING
        address = self._address(seen.ip) if running else None
        since_s = self.made.since_s if self._adopted else None
        log, configuration = self._log(seen), self.made.launch.configuration
        return Launched(self.slot, seen.incarnation, address, seen.phase, seen.reason, log, since_s, configuration)

    def _address(self, ip: str) -> GuardedAddress:
        if self._peers is None:
            return GuardedAddress(ip, PORT, self._secret)
        return self._peers.address(ip, PORT, self._secret, self.made.launch.generation)

    def _log(self, seen: SeenPod) -> Path | None:
        if self.spec is None or self.spec.logs is None or not seen.incarnation:
            return None
        return self.spec.logs / log_name(self.spec, seen.incarnation)

    # -- its output ------------------------------------------------------------------------------------------------
    def follow_from(self, spec: LaunchSpec) -> None:
        """The spec of an adopted instance: where its output goes."""
        self.spec = spec
        self._follow()

    def _follow(self) -> None:
        """Follow the output of an incarnation that runs."""
        if self._seen.phase is Phase.RUNNING and self._seen.incarnation not in self._outputs:
            output = self._output(self._seen)
            if output is not None:
                output.follow()

    def _output(self, seen: SeenPod) -> PodOutput | None:
        log = self._log(seen)
        if log is not None and seen.incarnation not in self._outputs:
            self._outputs[seen.incarnation] = PodOutput(self._client, seen.pod, log)
        return self._outputs.get(seen.incarnation)

    async def _last_line(self, ended: SeenPod) -> str:
        """Take the rest of the output of an incarnation that has ended, and return its end."""
        output = self._output(ended)
        if output is None:
            return ""
        await output.finish(replaced=ended.pod == self._seen.pod and _another(ended, self._seen))
        return await output.last_line()


def _another(first: SeenPod, now: SeenPod) -> bool:
    """Whether the first incarnation is over. The one after it may wait for a machine, and have not begun."""
    if not first.incarnation:
        return False
    return now.incarnation != first.incarnation if now.incarnation else now.pod != first.pod
