"""Launches and ends that the cluster does not answer: what stays of them, and what the next launch of the slot gets."""

import asyncio
from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest

from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.host import HostError, LaunchSpec, Slot
from torpor_endpoint.host.kubernetes.api.client import ClusterRefused, KubernetesClient
from torpor_endpoint.host.kubernetes.api.cluster import Cluster
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
from torpor_endpoint.host.kubernetes.kubernetes_host import KubernetesHost

SLOT = Slot("shop", "v", 0)
Object = dict[str, Any]


class MemoryClient(KubernetesClient):
    """Acts as an API server: names are unique, and a call is carried out though nobody waits for its answer."""

    def __init__(self) -> None:
        super().__init__(Cluster("http://127.0.0.1:9", "n", "a test", False, lambda: ""))
        self.objects: dict[tuple[str, str], Object] = {}
        self.unanswered: tuple[str, str] | None = None  # a verb and a resource
        self.away = False
        self._uids = count(1)

    async def call(
        self,
        verb: str,
        resource: str,
        name: str = "",
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Object:
        await asyncio.sleep(0.01)
        if self.away:
            raise HostError("the cluster cannot be reached")
        done = self._done(verb, (resource, name or (body or {})["metadata"]["name"]), body or {})
        if (verb, resource) == self.unanswered:
            await asyncio.sleep(3600.0)
        return done

    def _done(self, verb: str, key: tuple[str, str], body: Object) -> Object:
        if verb == "create":
            if key in self.objects:
                raise ClusterRefused(409, "there is one")
            metadata = {**body["metadata"], "uid": f"u-{next(self._uids)}", "creationTimestamp": "2026-01-01T00:00:00Z"}
            self.objects[key] = {**body, "metadata": metadata}
        elif key not in self.objects:
            raise ClusterRefused(404, "there is none")
        elif verb == "patch":
            self.objects[key]["spec"].update(body["spec"])
        elif verb == "delete":
            uid = self.objects[key]["metadata"]["uid"]
            if body["preconditions"]["uid"] != uid:
                raise ClusterRefused(409, "it is another one")
            self.objects = {name: one for name, one in self.objects.items() if uid not in _uids(one)}
            return {}
        return self.objects[key]

    @property
    def models(self) -> list[str]:
        """What instances would load that have a pod."""
        running = [one for (resource, _), one in self.objects.items() if resource == "deployments"]
        sources = [one["spec"]["template"]["spec"]["containers"][0]["envFrom"][-1] for one in running]
        names = [source["secretRef"]["name"] for source in sources]
        return [self.objects["secrets", name]["stringData"]["MODEL"] for name in names]


def _uids(one: Object) -> list[str]:
    metadata = one["metadata"]
    return [metadata["uid"], *(owner["uid"] for owner in metadata.get("ownerReferences", []))]


def spec(model: str, configuration: str = "") -> LaunchSpec:
    return LaunchSpec(SLOT, {"MODEL": model}, configuration=configuration or model)


def host_of(client: MemoryClient) -> KubernetesHost:
    return KubernetesHost(client, KubernetesSettings("i", disruption_budgets=False), b"x" * 32)


async def cut_short(host: KubernetesHost, client: MemoryClient, call: tuple[str, str], model: str) -> None:
    """Cancel a launch while it waits for the answer of this call."""
    client.unanswered = call
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(host.launch(spec(model)), 5.0)
    client.unanswered = None


CALLS = [("create", "deployments"), ("create", "secrets"), ("patch", "deployments")]


@pytest.mark.parametrize("call", CALLS)
def test_a_launch_that_is_cancelled_leaves_nothing(call: tuple[str, str]) -> None:
    async def story() -> None:
        client = MemoryClient()
        host = host_of(client)
        await cut_short(host, client, call, "deleted")
        assert host.health(SLOT) is None
        await host.terminate(SLOT, 0.0)
        assert client.objects == {}
        await host.close()

    run(story())


@pytest.mark.parametrize("call", CALLS)
def test_a_launch_after_one_that_was_cut_short_has_its_own_secret(call: tuple[str, str]) -> None:
    async def story() -> None:
        client = MemoryClient()
        host = host_of(client)
        await cut_short(host, client, call, "with credentials that are void")
        client.away = True
        asyncio.get_running_loop().call_later(2.0, setattr, client, "away", False)
        await host.launch(spec("with good ones", "with credentials that are void"))
        assert client.models == ["with good ones"]
        await asyncio.sleep(60.0)
        assert client.models == ["with good ones"]
        await host.close()

    run(story())


def test_what_another_process_launched_at_once_is_taken_and_what_differs_is_replaced() -> None:
    async def story() -> None:
        client = MemoryClient()
        hosts = [host_of(client) for _ in range(3)]
        for host, model in zip(hosts, ("old", "old", "new"), strict=True):
            await host.launch(spec(model))
            assert client.models == [model]
        for host in hosts:
            await host.close()

    run(story())


def test_an_end_that_the_cluster_does_not_hear_of_fails_and_a_later_launch_is_left_alone() -> None:
    async def story() -> None:
        client = MemoryClient()
        host = host_of(client)
        await host.launch(spec("old"))
        client.away = True
        for _ in range(2):
            with pytest.raises(HostError, match="has not deleted the Deployment of shop/v/0"):
                await host.terminate(SLOT, 0.0)
        with pytest.raises(HostError, match="has not deleted the Deployment of shop/v/0"):
            await host.launch(spec("new"))
        client.away = False
        await host.launch(spec("new"))
        await asyncio.sleep(60.0)
        assert client.models == ["new"]
        await host.terminate(SLOT, 0.0)
        assert client.objects == {}
        await host.close()

    run(story())


def test_a_host_that_keeps_its_instances_leaves_none_whose_launch_was_cut_short() -> None:
    async def story() -> None:
        client = MemoryClient()
        host = KubernetesHost(client, KubernetesSettings("i", disruption_budgets=False), b"x" * 32, keep=True)
        await cut_short(host, client, ("patch", "deployments"), "with credentials that are void")
        await host.close()
        assert client.objects == {}

    run(story())
