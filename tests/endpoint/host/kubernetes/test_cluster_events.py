"""What the host makes of what happens to its instances in a cluster, at a fake one in virtual time.

test_server_contract.py holds the fake one to what a real one does.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.endpoint.helpers.fake_cluster.api import NAMESPACE, NODE, ROOM
from tests.endpoint.helpers.fake_cluster.controllers import UNREACHABLE, evict
from tests.endpoint.helpers.fake_cluster.in_process import ClusterInProcess, cluster_in_process, running
from tests.endpoint.helpers.fake_cluster.objects import Object
from tests.endpoint.helpers.virtual_time import ThreadlessTime
from torpor_endpoint.host import HostError, LaunchSpec, Phase, Resources, Slot
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
from torpor_endpoint.host.kubernetes.kubernetes_host import KubernetesHost

SLOT = Slot("shop", "v", 0)
SPEC = LaunchSpec(SLOT, {}, resources=Resources(1, 1024))
LOST = {"key": UNREACHABLE, "effect": "NoExecute"}
Story = Callable[[ClusterInProcess, KubernetesHost], Awaitable[None]]


def host_of(cluster: ClusterInProcess, **settings: Any) -> KubernetesHost:
    of = KubernetesSettings("i", disruption_budgets=False, **settings)
    return KubernetesHost(cluster.client(), of, b"x" * 32)


@asynccontextmanager
async def opened(**settings: Any) -> AsyncIterator[tuple[ClusterInProcess, KubernetesHost]]:
    async with cluster_in_process() as cluster:
        host = host_of(cluster, **settings)
        await host.open([])
        yield cluster, host
        await host.close()


def told(story: Story, **settings: Any) -> None:
    async def with_host() -> None:
        async with opened(**settings) as (cluster, host):
            await story(cluster, host)

    with asyncio.Runner(loop_factory=ThreadlessTime) as runner:
        runner.run(asyncio.wait_for(with_host(), 24 * 3600.0))


async def placed(cluster: ClusterInProcess, host: KubernetesHost) -> str:
    """Launch, and return the name of the pod."""
    await host.launch(SPEC)
    assert (await host.placed(SLOT)).phase is Phase.RUNNING
    (pod,) = (one for one in cluster.objects.all("pods") if "deletionTimestamp" not in one["metadata"])
    return str(pod["metadata"]["name"])


def the_deployment(cluster: ClusterInProcess) -> str:
    (found,) = cluster.objects.all("deployments")
    return str(found["metadata"]["name"])


def taint(cluster: ClusterInProcess, *taints: Object) -> None:
    cluster.cluster.around.patch("nodes", NODE, {"spec": {"taints": list(taints)}})


# -- deletions by others ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_a_deployment_that_somebody_deletes_has_ended_however_they_delete_it(policy: str) -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        await placed(cluster, host)
        cluster.kubelet.lost.add(NODE)  # its pods stay, and so does what waits for them
        ended = asyncio.ensure_future(host.exited(SLOT))
        await asyncio.sleep(0)
        cluster.objects.delete("deployments", the_deployment(cluster), {"propagationPolicy": policy})
        assert (await ended).reason == "its Deployment was deleted"
        await asyncio.sleep(60.0)
        assert host.list()[0].phase is Phase.EXITED
        cluster.kubelet.lost.clear()

    told(story)


def test_a_deployment_that_somebody_holds_is_named_and_the_launch_works_once_it_is_let_go() -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        await placed(cluster, host)
        name = the_deployment(cluster)
        cluster.objects.patch("deployments", name, {"metadata": {"finalizers": ["a.b/c"]}})
        await host.terminate(SLOT, 1.0)
        with pytest.raises(HostError, match=f"does not delete the Deployment {name}: see what holds it there"):
            await host.launch(SPEC)
        cluster.objects.patch("deployments", name, {"metadata": {"finalizers": None}})
        await placed(cluster, host)

    told(story)


def test_pods_that_come_again_are_deleted_slowly_and_their_replica_set_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        await placed(cluster, host)
        cluster.objects.delete("deployments", the_deployment(cluster), {"propagationPolicy": "Orphan"})
        await cluster.until(lambda: not cluster.objects.all("deployments"))
        (left,) = cluster.objects.all("replicasets")
        with caplog.at_level(logging.WARNING):
            ending = asyncio.ensure_future(host.terminate(SLOT, 1.0))
            await asyncio.sleep(300.0)
            await asyncio.wait({ending})
        said = [one.message for one in caplog.records if "come again" in one.message]
        assert said == [
            f"shop/v/0: its pods come again after each deletion: delete their ReplicaSet {left['metadata']['name']}"
        ]
        assert cluster.objects.version < 1000  # it was many thousands
        cluster.objects.remove("replicasets", left["metadata"]["name"])
        await cluster.until(lambda: not cluster.objects.all("pods"))

    told(story)


# -- pods that end ---------------------------------------------------------------------------------------------------
def test_an_evicted_instance_has_ended_though_the_next_pod_waits_for_a_machine() -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        pod = await placed(cluster, host)
        before = host.list()[0].incarnation
        ended = asyncio.ensure_future(host.exited(SLOT))
        await asyncio.sleep(0)
        taint(cluster, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        evict(cluster.objects, pod)
        last = await ended
        assert (last.phase, last.incarnation) == (Phase.EXITED, before)

    told(story)


def test_an_instance_whose_end_nobody_saw_has_ended_too() -> None:
    """A list after a gap shows the next pod alone, which has not begun."""

    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        pod = await placed(cluster, host)
        ended = asyncio.ensure_future(host.exited(SLOT))
        cluster.wire.away = True
        cluster.wire.break_off()
        await asyncio.sleep(0.1)
        taint(cluster, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        evict(cluster.objects, pod)
        await asyncio.sleep(1.0)
        cluster.objects.compact()
        cluster.wire.away = False
        assert (await ended).reason == "its pod was replaced by another one"
        assert host.list()[0].phase is Phase.PENDING

    told(story)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (
            {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."},
            "its pod ended: The node was low on resource: memory.",
        ),
        (
            running(1, reason="OOMKilled", exitCode=137),
            "the machine ended it: it took more memory than its limit (OOMKilled)",
        ),
        (running(1, exitCode=139), "its process was ended by signal 11"),
    ],
)
def test_how_an_instance_ended_is_said(status: Object, reason: str) -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        pod = await placed(cluster, host)
        before = host.list()[0].incarnation
        ended = asyncio.ensure_future(host.exited(SLOT))
        await asyncio.sleep(0)
        cluster.objects.patch("pods", pod, {"status": status})
        last = await ended
        assert (last.incarnation, last.reason) == (before, reason)

    told(story)


def test_an_instance_on_a_lost_machine_has_ended_and_its_slot_gets_another() -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        pod = await placed(cluster, host)
        cluster.kubelet.lost.add(NODE)
        lost_s = asyncio.get_running_loop().time()
        ended = asyncio.ensure_future(host.exited(SLOT))
        taint(cluster, LOST)
        last = await ended
        assert last.reason == "its pod is being deleted: Taint manager: deleting due to NoExecute taint"
        assert asyncio.get_running_loop().time() - lost_s >= 300.0  # Torpor's pings have seen it long before
        cluster.cluster.around.create(
            "nodes", {"metadata": {"name": "another"}, "status": {"allocatable": {"memory": ROOM}}}
        )
        await host.terminate(SLOT, 1.0)
        await host.launch(SPEC)
        assert (await host.placed(SLOT)).phase is Phase.RUNNING
        assert ("pods", pod) in cluster.objects.by_name  # nobody can say that it has ended
        cluster.kubelet.lost.clear()
        taint(cluster)
        await cluster.until(lambda: ("pods", pod) not in cluster.objects.by_name)

    told(story)


# -- refusals --------------------------------------------------------------------------------------------------------
def test_a_quota_on_pods_is_the_reason_to_wait_and_its_end_ends_the_wait() -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        cluster.objects.create("resourcequotas", {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "0"}}})
        await cluster.until(lambda: cluster.objects.get("resourcequotas", "small").get("status"))
        await host.launch(SPEC)
        await cluster.until(lambda: "exceeded quota: small" in host.list()[0].reason)
        assert host.list()[0].reason.startswith("FailedCreate: pods ")
        cluster.objects.remove("resourcequotas", "small")
        assert (await host.placed(SLOT)).phase is Phase.RUNNING

    told(story)


def test_a_quota_on_secrets_fails_the_launch_with_the_clusters_words_and_leaves_nothing() -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        hard = {"count/secrets": "0"}
        cluster.objects.create("resourcequotas", {"metadata": {"name": "small"}, "spec": {"hard": hard}})
        await cluster.until(lambda: cluster.objects.get("resourcequotas", "small").get("status"))
        with pytest.raises(HostError, match="exceeded quota: small"):
            await host.launch(SPEC)
        await cluster.until(lambda: set(cluster.objects.by_name) == {("resourcequotas", "small")})

    told(story)


def test_a_namespace_that_is_being_deleted_is_no_right_that_lacks() -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        ends = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["kubernetes"]}
        cluster.cluster.around.patch("namespaces", NAMESPACE, {"metadata": ends})
        with pytest.raises(HostError, match="because it is being terminated") as failed:
            await host.launch(SPEC)
        assert "Role" not in str(failed.value)

    told(story)


def test_a_namespace_with_rules_for_pods_takes_the_pods_of_instances() -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        rules = {"pod-security.kubernetes.io/enforce": "restricted"}
        cluster.cluster.around.patch("namespaces", NAMESPACE, {"metadata": {"labels": rules}})
        await placed(cluster, host)

    told(story)


def test_a_server_with_too_much_to_do_and_a_contended_quota_only_delay_a_launch() -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        cluster.cluster.crowded, cluster.cluster.contended = 3, 2
        await placed(cluster, host)
        assert (cluster.cluster.crowded, cluster.cluster.contended) == (0, 0)

    told(story)


# -- watches ---------------------------------------------------------------------------------------------------------
def test_a_host_lists_once_however_long_it_follows() -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        await placed(cluster, host)
        cluster.wire.asked.clear()
        for _ in range(10):  # objects of others change meanwhile, and the history of before is forgotten
            cluster.objects.create("configmaps", {"metadata": {"name": "of-others"}})
            cluster.objects.remove("configmaps", "of-others")
            await asyncio.sleep(65.0)
            cluster.objects.compact()
        assert {query.get("watch") for query in cluster.wire.asked} == {"true"}
        assert host.list()[0].phase is Phase.RUNNING

    told(story)


def test_a_host_whose_watches_are_cut_off_and_too_old_takes_a_list_and_goes_on() -> None:
    async def story(cluster: ClusterInProcess, host: KubernetesHost) -> None:
        pod = await placed(cluster, host)
        cluster.wire.away = True
        cluster.wire.break_off()
        await asyncio.sleep(1.0)
        cluster.objects.patch("pods", pod, {"status": running(1, exitCode=3)})
        cluster.objects.compact()
        cluster.wire.away = False
        assert (await host.exited(SLOT)).reason == "its process ended with exit code 3"

    told(story)
