"""Writes the objects of instances as the cluster takes them: a Deployment and a Secret of each, and a disruption budget
of each variant. It does no I/O.

The instance's whole environment is in the Secret, since a container's Environment may hold passwords: whoever may read
pods or Deployments sees none of it. The Secret belongs to the Deployment, and the Deployment to the installation.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from torpor_container.settings import BY_FIELD, DEFAULTS
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
from torpor_endpoint.host.kubernetes.object_names import (
    CONFIGURATION,
    DEPLOYMENT,
    FLEET,
    GENERATION,
    SLOT,
    annotations,
    budget_name,
    deployment_name,
    labels,
    secret_name,
)

PORT = DEFAULTS.port
CONTAINER = "instance"
BASE_DIR = DEFAULTS.base_dir
DISK_ROOM_MIB = 256
"""Of the disk beyond the artifacts: verdicts, and what a script writes beside its model."""
LOGS_MIB = 64
"""Of the node's disk, for the output that kubelet keeps: 5 files of 10 MiB, unless the node is set otherwise
(containerLogMaxFiles, containerLogMaxSize)."""
LISTENS_PERIOD_S = 10
GRACE_S = 30

LOCKED: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}

Object = dict[str, Any]


@dataclass(frozen=True)
class Generation:
    """One launch of a slot: the Torpor that makes it, by its digest, what tells this launch from others, and what it is
    launched for (see `LaunchSpec.configuration`)."""

    slot: Slot
    deployment: str
    generation: str
    configuration: str = ""

    @property
    def name(self) -> str:
        """The Deployment's."""
        return deployment_name(self.slot, self.deployment)

    @property
    def secret(self) -> str:
        """The name of the Secret."""
        return secret_name(self.name, self.generation)

    @property
    def metadata(self) -> Object:
        """Labels and annotations."""
        return {
            "labels": labels(self.slot, self.deployment, self.generation),
            "annotations": {**annotations(self.slot), CONFIGURATION: self.configuration},
        }


def deployment(launch: Generation, spec: LaunchSpec, settings: KubernetesSettings, owner: Object | None) -> Object:
    """The Deployment, still of no pod: `scaled` says that it may have one, once its Secret is there."""
    found = launch.metadata
    owners = {} if owner is None else {"ownerReferences": [owner]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": launch.name, **found, **owners},
        "spec": {
            "replicas": 0,
            "strategy": {"type": "Recreate"},
            "revisionHistoryLimit": 0,
            "selector": {"matchLabels": {name: found["labels"][name] for name in (SLOT, GENERATION)}},
            "template": {
                "metadata": {
                    "labels": {**settings.labels, **found["labels"]},
                    "annotations": {**settings.annotations, **found["annotations"]},
                },
                "spec": _pod(launch, spec, settings),
            },
        },
    }


def scaled(replicas: int) -> Object:
    """A merge patch of a Deployment."""
    return {"spec": {"replicas": replicas}}


def secret(
    launch: Generation,
    spec: LaunchSpec,
    instance_secret: bytes,
    uid: str,
    proving: Mapping[str, str] = MappingProxyType({}),
) -> Object:
    """The Secret with the environment. It goes with the Deployment of this `uid`. `proving` are the variables by which
    the instance proves itself."""
    environment = {
        **spec.environment,
        **proving,
        BY_FIELD["base_dir"].variable: BASE_DIR,
        BY_FIELD["port"].variable: str(PORT),
        BY_FIELD["secret"].variable: instance_secret.hex(),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": launch.secret,
            **launch.metadata,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": launch.name, "uid": uid}],
        },
        "type": "Opaque",
        "immutable": True,
        "stringData": environment,
    }


def disruption_budget(endpoint: str, variant: str, deployment: str, owner: Object | None) -> Object:
    """At most one pod of a variant leaves for the drain of a machine. One that does not run well never holds a drain
    up: it serves nobody (https://kubernetes.io/docs/tasks/run-application/configure-pdb/)."""
    found = labels(Slot(endpoint, variant, 0), deployment, "")
    selected = {name: found[name] for name in (DEPLOYMENT, FLEET)}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": budget_name(endpoint, variant, deployment),
            "labels": {name: value for name, value in found.items() if name not in (SLOT, GENERATION)},
            "annotations": {"torpor/endpoint": endpoint, "torpor/variant": variant},
            **({} if owner is None else {"ownerReferences": [owner]}),
        },
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": selected},
        },
    }


def deletion_of(uid: str) -> Object:
    """The options of the deletion of a Deployment with all that belongs to it, and of no other of its name."""
    return {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid},
        "propagationPolicy": "Background",
    }


def deletion(grace_s: float) -> Object:
    """The options of a deletion. A pod that gets no second at all would be forgotten before its processes end."""
    return {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": max(1, math.ceil(grace_s))}


def _pod(launch: Generation, spec: LaunchSpec, settings: KubernetesSettings) -> Object:
    on_gpu = settings.gpu_node_selector if spec.resources is not None and spec.resources.gpus else {}
    optional = {
        "serviceAccountName": settings.service_account,
        "nodeSelector": {**settings.node_selector, **on_gpu},
        "tolerations": [dict(one) for one in settings.tolerations],
        "imagePullSecrets": [{"name": name} for name in settings.pull_secrets],
    }
    return {
        **{name: value for name, value in optional.items() if value},
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,  # a Service named torpor would bring TORPOR_PORT, which is no setting
        "terminationGracePeriodSeconds": GRACE_S,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": settings.user,
            "runAsGroup": settings.user,
            "fsGroup": settings.user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [_spread(launch.metadata["labels"])],
        "containers": [_container(launch, spec, settings)],
        "volumes": [
            {"name": "disk", "emptyDir": {"sizeLimit": f"{_disk_mib(spec) + DISK_ROOM_MIB}Mi"}},
            {"name": "temporary", "emptyDir": {"sizeLimit": f"{settings.temporary_mib}Mi"}},
        ],
    }


def _container(launch: Generation, spec: LaunchSpec, settings: KubernetesSettings) -> Object:
    further = [settings.environment_secret] if settings.environment_secret else []
    return {
        "name": CONTAINER,
        "image": settings.image,
        "imagePullPolicy": settings.pull_policy,
        "args": ["serve"],
        "envFrom": [{"secretRef": {"name": name}} for name in (*further, launch.secret)],  # the last one wins
        "ports": [{"name": "greeted", "containerPort": PORT}],
        # Torpor pings what listens, by connections that it greets. The cluster has no need of a Python process for each
        # question: it sees whether the port is open.
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": LISTENS_PERIOD_S},
        "resources": _resources(spec, settings),
        "securityContext": LOCKED,
        "volumeMounts": [{"name": "disk", "mountPath": BASE_DIR}, {"name": "temporary", "mountPath": "/tmp"}],
    }


def _resources(spec: LaunchSpec, settings: KubernetesSettings) -> Object:
    """Requests that are the limits: nothing is promised twice, and the pod is the last to be evicted. The disk has its
    limits at the volumes, and is asked for as a whole, so that a node is not promised more than it has."""
    disk = {"ephemeral-storage": f"{_disk_mib(spec) + DISK_ROOM_MIB + settings.temporary_mib + LOGS_MIB}Mi"}
    if spec.resources is None:
        return {"requests": disk}
    wanted = {
        "cpu": str(spec.resources.vcpu),
        "memory": f"{spec.resources.memory_mib + settings.memory_room_mib}Mi",
    }
    if spec.resources.gpus:
        wanted[settings.gpu_resource] = str(spec.resources.gpus)
    return {"requests": {**wanted, **disk}, "limits": wanted}


def _spread(found: Mapping[str, str]) -> Object:
    """Instances of a variant go to different machines, where there are any."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {name: found[name] for name in (DEPLOYMENT, FLEET)}},
    }


def _disk_mib(spec: LaunchSpec) -> int:
    """For unpacked artifacts, and for those that are shared with other instances."""
    rows = (BY_FIELD["disk_bytes"], BY_FIELD["neighbours_bytes"])
    return sum(int(row.read(spec.environment.get(row.variable, row.default))) // (1024 * 1024) for row in rows)
