"""What an API server of Kubernetes answers and does, as the fake one does it and as a real one does it.

Each story is told to the fake one always, and to a real one where TORPOR_KUBERNETES_BINARIES names its programs, so
that they cannot drift. tests/endpoint/helpers/fake_cluster/README.md says what the host makes of each.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.endpoint.helpers import fake_cluster
from tests.endpoint.helpers.fake_cluster.both import ApiGround, ApiServer, FakeGround, RealGround
from tests.endpoint.helpers.fake_cluster.control_plane import AT_HAND, NODE, ControlPlane
from tests.endpoint.helpers.fake_cluster.in_process import running
from tests.endpoint.helpers.fake_cluster.objects import Object

SERVERS = ["fake", *(["real"] if AT_HAND else [])]
README = Path(fake_cluster.__file__).with_name("README.md")
RESTRICTED: Object = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture(scope="module", params=SERVERS)
def ground(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGround]:
    if request.param == "fake":
        yield FakeGround()
        return
    plane = ControlPlane(tmp_path_factory.mktemp("contract"))
    try:
        asyncio.run(plane.start())
        yield RealGround(plane)
    finally:
        plane.stop()


def deployment(name: str, replicas: int = 0, memory: str = "1Gi", **of_pod: Any) -> Object:
    container = {"name": "instance", "image": "i", "resources": {"requests": {"memory": memory}}}
    labels = {"app": name}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **of_pod}},
        },
    }


def named(name: str, **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}}


async def pods_on_a_machine(api: ApiServer, count: int = 1) -> list[str]:
    """The names of pods that have a machine, and are not being deleted."""

    async def found() -> list[str]:
        pods = (await api.get("pods")).json()["items"]
        placed = [one for one in pods if one["spec"].get("nodeName") and not ends(one)]
        return [one["metadata"]["name"] for one in placed] if len(placed) == count else []

    names: list[str] = await api.until(found)
    return names


async def condition(api: ApiServer, kind: str, resource: str, name: str) -> Object:
    """The condition of this kind, once an object has it."""

    async def found() -> Object | None:
        told = (await api.get(resource, name)).json().get("status", {}).get("conditions", [])
        return next((one for one in told if one["type"] == kind), None)

    one: Object = await api.until(found)
    return one


def ends(one: Object) -> bool:
    return "deletionTimestamp" in one["metadata"]


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["reason"]


# -- watches ---------------------------------------------------------------------------------------------------------
def test_a_watch_ends_after_its_time(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        version = await api.version("configmaps")
        await api.create("configmaps", named("a", labels={"of": "this"}))
        events = await api.watch("configmaps", version, timeoutSeconds="1", labelSelector="of=this")
        assert [(one["type"], one["object"]["metadata"]["name"]) for one in events] == [("ADDED", "a")]

    ground.tell(story)


def test_a_bookmark_comes_before_the_end_if_something_has_happened(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        version = await api.version("configmaps")
        await api.create("configmaps", named("a", labels={"of": "this"}))
        how = {"timeoutSeconds": "4", "labelSelector": "of=this", "allowWatchBookmarks": "true"}
        async with aclosing(api.events("configmaps", version, **how)) as events:
            shown = (await anext(events))["object"]["metadata"]["resourceVersion"]
            await api.create("configmaps", named("of-somebody-else"))
            last = [event async for event in events]
        assert {one["type"] for one in last} == {"BOOKMARK"}
        assert int(last[0]["object"]["metadata"]["resourceVersion"]) > int(shown)

    ground.tell(story)


def test_an_object_that_leaves_a_selector_is_deleted_as_it_was_and_may_come_back(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("configmaps", named("a", labels={"of": "this"}))
        version = await api.version("configmaps")
        for label in ("that", None, "this"):
            await api.patch("configmaps", "a", {"metadata": {"labels": {"of": label}}})
        events = await api.watch("configmaps", version, timeoutSeconds="1", labelSelector="of=this")
        assert [(one["type"], one["object"]["metadata"]["labels"]) for one in events] == [
            ("DELETED", {"of": "this"}),
            ("ADDED", {"of": "this"}),
        ]
        assert int(events[0]["object"]["metadata"]["resourceVersion"]) > int(version)

    ground.tell(story)


def test_a_server_that_ends_cuts_watches_off_and_has_no_history_afterwards(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        version = await api.version("configmaps")
        await api.create("configmaps", named("a"))
        async with aclosing(api.events("configmaps", version)) as events:
            await anext(events)
            await ground.restart()
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                await anext(events)
        (event,) = await api.watch("configmaps", version, timeoutSeconds="60")
        assert event["type"] == "ERROR"
        assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
        assert "too old resource version" in event["object"]["message"]

    ground.tell(story)


# -- writes ----------------------------------------------------------------------------------------------------------
def test_a_merge_patch_takes_a_member_away_by_null_and_replaces_lists(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("configmaps", named("a", annotations={"x": "1", "y": "2"}, finalizers=["a.b/c", "a.b/d"]))
        change = {"metadata": {"annotations": {"x": None, "z": "3"}, "finalizers": ["a.b/d"]}}
        patched = (await api.patch("configmaps", "a", change)).json()["metadata"]
        assert (patched["annotations"], patched["finalizers"]) == ({"y": "2", "z": "3"}, ["a.b/d"])
        again = (await api.patch("configmaps", "a", change)).json()["metadata"]
        assert again["resourceVersion"] == patched["resourceVersion"]  # nothing has changed: there is no event
        assert refusal(await api.patch("configmaps", "b", change)) == (404, "NotFound")
        await api.patch("configmaps", "a", {"metadata": {"finalizers": None}})

    ground.tell(story)


def test_a_status_is_written_by_its_own_path_alone(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("deployments", deployment("a", 1))
        (pod,) = await pods_on_a_machine(api)
        over = {"reason": "OOMKilled", "exitCode": 137}
        status = {**running(1, **over)["containerStatuses"][0], "image": "i", "imageID": "i", "ready": True}
        told = {"status": {**running(), "containerStatuses": [status]}}
        assert (await api.patch("pods", pod, told)).json()["status"]["phase"] == "Pending"
        seen = (await api.patch("pods", pod, told, of="status")).json()["status"]
        assert (seen["phase"], seen["podIP"]) == ("Running", "10.0.0.7")
        assert seen["containerStatuses"][0]["lastState"]["terminated"].items() >= over.items()

    ground.tell(story)


def test_a_name_is_taken_once_and_a_deletion_of_another_uid_is_a_conflict(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        assert (await api.create("deployments", deployment("a"))).status_code == 201
        assert refusal(await api.create("deployments", deployment("a"))) == (409, "AlreadyExists")
        other = await api.delete("deployments", "a", preconditions={"uid": "another"})
        assert refusal(other) == (409, "Conflict")
        assert (await api.delete("deployments", "a", propagationPolicy="Background")).json()["status"] == "Success"
        assert refusal(await api.delete("deployments", "a")) == (404, "NotFound")

    ground.tell(story)


def test_what_is_not_valid_is_refused(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        other = deployment("a")
        other["spec"]["selector"]["matchLabels"] = {"app": "b"}
        for body in (deployment("Upper_Case"), deployment("a" * 254), other):
            assert refusal(await api.create("deployments", body)) == (422, "Invalid")
        assert refusal(await api.create("configmaps", named("a", labels={"of": "a b"}))) == (422, "Invalid")
        assert refusal(await api.create("configmaps", named("a", labels={"of": "a" * 64}))) == (422, "Invalid")

    ground.tell(story)


# -- deletions -------------------------------------------------------------------------------------------------------
def test_a_finalizer_keeps_an_object_and_its_name_until_it_is_taken_away(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("deployments", deployment("a"))
        await api.patch("deployments", "a", {"metadata": {"finalizers": ["a.b/c"]}})
        left = await api.delete("deployments", "a", propagationPolicy="Background")
        assert (left.status_code, ends(left.json())) == (200, True)
        taken = await api.create("deployments", deployment("a"))
        assert refusal(taken) == (409, "AlreadyExists")
        assert taken.json()["message"].startswith("object is being deleted")
        again = await api.delete("deployments", "a", propagationPolicy="Background")
        assert again.json()["metadata"]["deletionTimestamp"] == left.json()["metadata"]["deletionTimestamp"]
        assert (await api.patch("deployments", "a", {"metadata": {"finalizers": None}})).status_code == 200
        assert (await api.get("deployments", "a")).status_code == 404

    ground.tell(story)


def test_a_deletion_in_the_background_takes_a_deployment_at_once_and_its_pods_later(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("deployments", deployment("a", 1))
        (pod,) = await pods_on_a_machine(api)
        await api.delete("deployments", "a", propagationPolicy="Background")
        assert (await api.get("deployments", "a")).status_code == 404

        async def marked() -> bool:
            return ends((await api.get("pods", pod)).json())

        await api.until(marked)  # and it stays until its kubelet has ended it
        assert (await api.get("pods", pod)).json()["metadata"]["deletionGracePeriodSeconds"] == 30

    ground.tell(story)


def test_a_deletion_in_the_foreground_keeps_a_deployment_until_its_pods_are_gone(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("deployments", deployment("a", 1))
        (pod,) = await pods_on_a_machine(api)
        left = (await api.delete("deployments", "a", propagationPolicy="Foreground")).json()
        assert (ends(left), left["metadata"]["finalizers"]) == (True, ["foregroundDeletion"])

        async def marked() -> bool:
            return ends((await api.get("pods", pod)).json())

        await api.until(marked)
        assert ends((await api.get("deployments", "a")).json())
        await api.delete("pods", pod, gracePeriodSeconds=0)

        async def gone() -> bool:
            return (await api.get("deployments", "a")).status_code == 404

        await api.until(gone)

    ground.tell(story)


def test_a_deletion_that_orphans_leaves_the_pods(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("deployments", deployment("a", 1))
        (pod,) = await pods_on_a_machine(api)
        await api.delete("deployments", "a", propagationPolicy="Orphan")

        async def gone() -> bool:
            return (await api.get("deployments", "a")).status_code == 404

        await api.until(gone)
        (left,) = (await api.get("replicasets")).json()["items"]
        assert "ownerReferences" not in left["metadata"]
        assert not ends((await api.get("pods", pod)).json())

    ground.tell(story)


def test_a_later_deletion_of_a_pod_only_shortens_its_grace(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("deployments", deployment("a", 1))
        (pod,) = await pods_on_a_machine(api)
        graces = []
        for grace_s in (20, 60, 5):
            left = await api.delete("pods", pod, gracePeriodSeconds=grace_s)
            graces.append(left.json()["metadata"]["deletionGracePeriodSeconds"])
        assert graces == [20, 20, 5]

    ground.tell(story)


def test_a_pod_without_a_machine_or_with_an_end_is_gone_at_once(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("deployments", deployment("big", 1, memory="100Ti"))

        async def waiting() -> str:
            pods = (await api.get("pods", labelSelector="app=big")).json()["items"]
            return str(pods[0]["metadata"]["name"]) if pods else ""

        waits = await api.until(waiting)
        unscheduled = await condition(api, "PodScheduled", "pods", waits)
        assert "Insufficient memory" in unscheduled["message"]
        await api.create("deployments", deployment("a", 1))
        (failed,) = await pods_on_a_machine(api)
        await api.patch("pods", failed, {"status": {"phase": "Failed", "reason": "Evicted"}}, of="status")
        for pod in (waits, failed):
            assert (await api.delete("pods", pod, gracePeriodSeconds=30)).status_code == 200
            assert (await api.get("pods", pod)).status_code == 404

    ground.tell(story)


# -- pods that end otherwise -----------------------------------------------------------------------------------------
def test_a_pod_that_its_machine_evicts_stays_and_another_is_made(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("deployments", deployment("a", 1))
        (evicted,) = await pods_on_a_machine(api)
        await api.patch("pods", evicted, {"status": {"phase": "Failed", "reason": "Evicted"}}, of="status")
        assert evicted in await pods_on_a_machine(api, 2)

    ground.tell(story)


def test_a_machine_that_is_lost_marks_its_pods_which_stay(ground: ApiGround) -> None:
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    tolerated = [{"key": taint["key"], "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}]

    async def story(api: ApiServer) -> None:
        await api.create("deployments", deployment("a", 1, tolerations=tolerated))
        (lost,) = await pods_on_a_machine(api)
        node = f"/api/v1/nodes/{NODE}"
        assert (await api.merge(node, {"spec": {"taints": [taint]}})).status_code == 200
        try:
            target = await condition(api, "DisruptionTarget", "pods", lost)
            assert target["reason"] == "DeletionByTaintManager"

            async def replaced() -> list[Object]:
                pods = (await api.get("pods")).json()["items"]
                return pods if len(pods) > 1 else []

            pods = await api.until(replaced)
            assert [ends(one) for one in pods if one["metadata"]["name"] == lost] == [True]
        finally:
            await api.merge(node, {"spec": {"taints": None}})

    ground.tell(story)


async def budget_and_pods(api: ApiServer) -> tuple[str, str]:
    """Two pods that are ready, of which one may leave."""
    await api.create("deployments", deployment("a", 2))
    first, second = await pods_on_a_machine(api, 2)
    for pod in (first, second):
        await api.patch(
            "pods", pod, {"status": {"phase": "Running", "conditions": running()["conditions"]}}, of="status"
        )
    selector = {"matchLabels": {"app": "a"}}
    spec = {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": selector}
    await api.create("poddisruptionbudgets", {**named("b"), "spec": spec})
    return first, second


async def evicted(api: ApiServer, pod: str) -> httpx.Response:
    return await api.create("pods", {"apiVersion": "policy/v1", "kind": "Eviction", **named(pod)}, pod, "eviction")


def test_a_budget_holds_evictions_up_but_not_of_pods_that_are_not_ready(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        first, second = await budget_and_pods(api)

        async def counted() -> bool:
            told = (await api.get("poddisruptionbudgets", "b")).json().get("status", {})
            return bool(told.get("disruptionsAllowed") == 1)

        await api.until(counted)
        assert (await evicted(api, first)).status_code == 201
        assert (await condition(api, "DisruptionTarget", "pods", first))["reason"] == "EvictionByEvictionAPI"
        assert ends((await api.get("pods", first)).json())
        held_up = await evicted(api, second)
        assert (refusal(held_up), "retry-after" in held_up.headers) == ((429, "TooManyRequests"), False)
        await api.patch("pods", second, {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, of="status")
        assert (await evicted(api, second)).status_code == 201

    ground.tell(story)


def test_a_server_that_is_not_ready_for_an_eviction_says_when_to_ask_again(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        await api.create("deployments", deployment("a", 2))
        await pods_on_a_machine(api, 2)
        with ground.controllers_rest():  # nobody counts the pods of the budget
            first, _ = await budget_and_pods(api)
            later = await evicted(api, first)
        assert (refusal(later), later.headers["retry-after"]) == ((429, "TooManyRequests"), "10")

    ground.tell(story)


# -- refusals --------------------------------------------------------------------------------------------------------
def test_a_quota_refuses_a_deployment_at_once_and_its_pod_in_its_conditions(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        hard = {"pods": "0", "count/secrets": "0"}
        await api.create("resourcequotas", {**named("small"), "spec": {"hard": hard}})

        async def counted() -> bool:
            return bool((await api.get("resourcequotas", "small")).json().get("status", {}).get("hard") == hard)

        await api.until(counted)
        secret = await api.create("secrets", {**named("a"), "stringData": {"x": "y"}})
        assert refusal(secret) == (403, "Forbidden")
        assert "exceeded quota: small" in secret.json()["message"]
        assert (await api.create("deployments", deployment("a", 1))).status_code == 201
        failure = await condition(api, "ReplicaFailure", "deployments", "a")
        assert (failure["status"], failure["reason"]) == ("True", "FailedCreate")
        assert "is forbidden: exceeded quota: small" in failure["message"]

    ground.tell(story)


def test_a_namespace_with_rules_for_pods_warns_of_a_deployment_and_refuses_its_pod(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        rules = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
        await api.merge(f"/api/v1/namespaces/{api.namespace}", rules)
        made = await api.create("deployments", deployment("a", 1))
        assert made.status_code == 201
        assert "would violate PodSecurity" in made.headers["warning"]
        failure = await condition(api, "ReplicaFailure", "deployments", "a")
        assert 'is forbidden: violates PodSecurity "restricted' in failure["message"]
        pod = {**named("b"), "spec": {"containers": [{"name": "c", "image": "i"}]}}
        assert refusal(await api.create("pods", pod)) == (403, "Forbidden")
        pod["spec"]["containers"][0]["securityContext"] = RESTRICTED
        assert (await api.create("pods", pod)).status_code == 201

    ground.tell(story)


def test_a_namespace_that_is_being_deleted_takes_nothing(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        held, path = named("held", finalizers=["a.b/c"]), f"/api/v1/namespaces/{api.namespace}"
        await api.create("configmaps", held)
        await api.merge(path, {"metadata": {"finalizers": ["a.b/c"]}})
        await api.ask("DELETE", path, {})
        refused = await api.create("deployments", deployment("a"))
        assert refusal(refused) == (403, "Forbidden")
        assert "because it is being terminated" in refused.json()["message"]
        await api.patch("configmaps", "held", {"metadata": {"finalizers": None}})
        await api.merge(path, {"metadata": {"finalizers": None}})

    ground.tell(story)


def test_a_right_that_lacks_is_told_with_the_verb_and_a_wrong_token_without_anything(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        create = await api.powerless.post(api.path("deployments"), json=deployment("a"))
        watch = await api.powerless.get(api.path("pods"), params={"watch": "true", "resourceVersion": "1"})
        for answer, told in ((create, 'cannot create resource "deployments"'), (watch, 'cannot watch resource "pods"')):
            assert refusal(answer) == (403, "Forbidden")
            assert told in answer.json()["message"]
        stranger = await api.powerless.get(api.path("pods"), headers={"authorization": "Bearer wrong"})
        assert refusal(stranger) == (401, "Unauthorized")

    ground.tell(story)


def test_a_namespace_that_is_not_there_takes_nothing_and_has_nothing(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        path = api.path("deployments", namespace="nowhere")
        refused = await api.ask("POST", path, deployment("a"))
        assert refusal(refused) == (404, "NotFound")
        assert refused.json()["message"] == 'namespaces "nowhere" not found'
        assert (await api.ask("GET", path, {})).json()["items"] == []

    ground.tell(story)


def test_a_pod_without_a_machine_has_no_output(ground: ApiGround) -> None:
    async def story(api: ApiServer) -> None:
        assert refusal(await api.get("pods", "none", "log")) == (404, "NotFound")
        much = {"requests": {"memory": "100Ti"}}
        pod = {**named("a"), "spec": {"containers": [{"name": "c", "image": "i", "resources": much}]}}
        await api.create("pods", pod)
        with_none = await api.get("pods", "a", "log")
        assert (with_none.status_code, with_none.text) == (204, "")

    ground.tell(story)


def test_the_readme_has_a_row_for_each_story() -> None:
    stories = [
        name.removeprefix("test_") for name, of in globals().items() if "ground" in getattr(of, "__annotations__", ())
    ]
    rows = re.findall(r"^\| `(\w+)` \|", README.read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(name for name in stories if name != "ground")
