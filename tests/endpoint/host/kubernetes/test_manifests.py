"""The objects of an instance, as the cluster takes them."""

import json
from dataclasses import replace
from typing import Any

from torpor_endpoint.host import LaunchSpec, Resources, Slot
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
from torpor_endpoint.host.kubernetes.manifests import Generation, deletion, deployment, secret

SLOT = Slot("shop", "AllTraffic", 0)
LAUNCH = Generation(SLOT, "0123abcd", "4f")
SPEC = LaunchSpec(SLOT, {"PASSWORD": "hush", "TORPOR_DISK_MIB": "5120"}, resources=Resources(2, 8192))
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "torpor", "uid": "u"}


def pod_of(settings: KubernetesSettings, spec: LaunchSpec = SPEC) -> Any:
    return deployment(LAUNCH, spec, settings, OWNER)["spec"]["template"]["spec"]


def test_nothing_of_the_environment_is_outside_the_secret() -> None:
    assert "hush" not in json.dumps(deployment(LAUNCH, SPEC, KubernetesSettings("i"), OWNER))
    made = secret(LAUNCH, SPEC, b"\1" * 32, "uid-of-the-deployment")
    assert made["stringData"]["PASSWORD"] == "hush"
    assert made["stringData"]["TORPOR_INSTANCE_SECRET"] == "01" * 32
    assert made["metadata"]["ownerReferences"][0]["uid"] == "uid-of-the-deployment"
    assert made["immutable"] is True


def test_what_an_instance_proves_itself_with_is_in_the_secret_alone() -> None:
    made = secret(LAUNCH, SPEC, b"\1" * 32, "u", {"TORPOR_PEER_TLS": "a key"})
    assert made["stringData"]["TORPOR_PEER_TLS"] == "a key"
    assert secret(LAUNCH, SPEC, b"\1" * 32, "u")["stringData"].keys() == made["stringData"].keys() - {"TORPOR_PEER_TLS"}


def test_requests_are_the_limits_with_room_beyond_the_instances_memory() -> None:
    settings = KubernetesSettings("i", memory_room_mib=100, temporary_mib=1000)
    resources = pod_of(settings)["containers"][0]["resources"]
    assert resources["limits"] == {"cpu": "2", "memory": "8292Mi"}
    assert resources["requests"] == {**resources["limits"], "ephemeral-storage": f"{5120 + 256 + 1000 + 64}Mi"}
    pod = pod_of(settings)
    limits = [int(one["emptyDir"]["sizeLimit"].removesuffix("Mi")) for one in pod["volumes"]]
    assert sum(limits) == 5120 + 256 + 1000


def test_a_pod_has_no_more_rights_than_it_needs() -> None:
    pod = pod_of(KubernetesSettings("i"))
    assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"]) == (False, False)
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/opt/ml", "/tmp"]


def test_what_the_file_names_is_in_the_pod() -> None:
    pod = pod_of(
        KubernetesSettings(
            "registry/i:1",
            pull_secrets=("keys",),
            service_account="reader",
            environment_secret="s3",
            node_selector={"disk": "ssd"},
            tolerations=({"key": "models", "operator": "Exists"},),
        )
    )
    assert (pod["serviceAccountName"], pod["nodeSelector"]) == ("reader", {"disk": "ssd"})
    assert (pod["imagePullSecrets"], pod["tolerations"][0]["key"]) == ([{"name": "keys"}], "models")
    assert [one["secretRef"]["name"] for one in pod["containers"][0]["envFrom"]] == ["s3", LAUNCH.secret]


def test_a_pod_takes_the_gpus_of_its_instance_on_nodes_that_have_them() -> None:
    settings = KubernetesSettings("i", node_selector={"disk": "ssd"}, gpu_node_selector={"card": "t4"})
    with_gpus = pod_of(settings, replace(SPEC, resources=Resources(4, 8192, gpus=2)))
    resources = with_gpus["containers"][0]["resources"]
    assert resources["limits"]["nvidia.com/gpu"] == resources["requests"]["nvidia.com/gpu"] == "2"
    assert with_gpus["nodeSelector"] == {"disk": "ssd", "card": "t4"}
    assert pod_of(settings)["nodeSelector"] == {"disk": "ssd"}


def test_a_deployment_belongs_to_the_installation_and_starts_without_a_pod() -> None:
    made = deployment(LAUNCH, SPEC, KubernetesSettings("i"), OWNER)
    assert made["metadata"]["ownerReferences"] == [OWNER]
    assert (made["spec"]["replicas"], made["spec"]["strategy"]["type"]) == (0, "Recreate")


def test_a_pod_has_a_second_at_least_to_end() -> None:
    assert [deletion(grace_s)["gracePeriodSeconds"] for grace_s in (0.0, 0.2, 30.0)] == [1, 1, 30]
