"""Reads the file of `--kubernetes-file`: how the pods of instances are made.

image = "my-registry/torpor-instance:0.1.0"   # the target `instance` of Torpor's Dockerfile; must be given
namespace = "models"                          # default: that of the pod, or of the kubeconfig's context
context = "prod"                              # of the kubeconfig; default: its current one
owner = "ConfigMap/torpor"                    # instances are deleted with this object of the namespace
pull_policy = "IfNotPresent"
pull_secrets = ["my-registry"]
service_account = "torpor-instance"           # of the pods; its token is not mounted
environment_secret = "s3-keys"                # a Secret whose members become variables of every instance
node_selector = { "kubernetes.io/arch" = "amd64" }
gpu_node_selector = { "accelerator" = "t4" }  # further, of the pods that take a GPU
gpu_resource = "nvidia.com/gpu"               # the name by which the cluster counts its GPUs
tolerations = [{ key = "models", operator = "Exists" }]
labels = { "team" = "models" }                  # of the pods, as the annotations
annotations = { "sidecar.istio.io/inject" = "false" }
memory_room_mib = 512                         # beyond the instance's own memory: the zygote, trials, buffers
temporary_mib = 1024                          # of /tmp
disruption_budgets = true                     # at most one pod of a variant leaves for the drain of a machine
user = 65532                                  # the user's and group's number in the container
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
OWNERS = {
    "ConfigMap": ("v1", "configmaps"),
    "Deployment": ("apps/v1", "deployments"),
    "StatefulSet": ("apps/v1", "statefulsets"),
}
"""The kinds that may own instances: each kind's version, and its name in paths of the API."""


class BadKubernetesFile(Exception):
    """The file cannot be used. The message names it and its member."""


@dataclass(frozen=True)
class KubernetesSettings:
    """The members of the file. An empty text means the default that the module's text names."""

    image: str
    namespace: str = ""
    context: str = ""
    owner: str = ""
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    service_account: str = ""
    environment_secret: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    gpu_node_selector: Mapping[str, str] = field(default_factory=dict)
    gpu_resource: str = "nvidia.com/gpu"
    tolerations: tuple[Mapping[str, Any], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    memory_room_mib: int = 512
    temporary_mib: int = 1024
    disruption_budgets: bool = True
    user: int = 65532

    @classmethod
    def read(cls, path: Path | None) -> "KubernetesSettings":
        """Read the TOML file. Raises BadKubernetesFile."""
        if path is None:
            raise BadKubernetesFile('it must be given, and name the instances\' image: image = "registry/name:tag"')
        try:
            document = tomllib.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise BadKubernetesFile(f"{path}: {error}") from error
        if unknown := [member for member in document if member not in MEMBERS]:
            raise BadKubernetesFile(f"{path}: {unknown[0]} is not known: choose of {', '.join(MEMBERS)}")
        if "image" not in document:
            raise BadKubernetesFile(f'{path}: image must be given, such as image = "registry/torpor-instance:0.1.0"')
        for member, value in document.items():
            good, rule = MEMBERS[member]
            if not good(value):
                raise BadKubernetesFile(f"{path}: {member} {rule}")
        members: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
        }
        return cls(**members)


def _dns(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch("[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", value))


def _namespace(value: object) -> bool:
    return _dns(value) and "." not in str(value) and len(str(value)) <= 63


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _amount(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _resource(value: object) -> bool:
    domain, _, name = str(value).partition("/")
    return (
        isinstance(value, str)
        and _dns(domain)
        and bool(re.fullmatch("[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", name))
    )


def _owner(value: object) -> bool:
    kind, _, name = str(value).partition("/")
    return isinstance(value, str) and kind in OWNERS and _dns(name)


NAME = "must be the name of an object of the cluster: lower-case letters, digits and hyphens"
TEXTS = "must be a table whose values are texts"
MEMBERS: dict[str, tuple[Callable[[object], bool], str]] = {
    "image": (_text, "must be the name of an image"),
    "namespace": (_namespace, "must be the name of a namespace: at most 63 lower-case letters, digits and hyphens"),
    "context": (_text, "must be the name of a context of the kubeconfig"),
    "owner": (_owner, f"must be kind/name, with one of the kinds {', '.join(OWNERS)}"),
    "pull_policy": (lambda value: value in PULL_POLICIES, f"must be one of {', '.join(PULL_POLICIES)}"),
    "pull_secrets": (lambda value: isinstance(value, list) and all(map(_dns, value)), "must be a list of names"),
    "service_account": (_dns, NAME),
    "environment_secret": (_dns, NAME),
    "node_selector": (_texts, TEXTS),
    "gpu_node_selector": (_texts, TEXTS),
    "gpu_resource": (_resource, "must be the name of an extended resource, such as nvidia.com/gpu"),
    "tolerations": (
        lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
        "must be a list of tables",
    ),
    "labels": (_texts, TEXTS),
    "annotations": (_texts, TEXTS),
    "memory_room_mib": (_amount, "must be a whole number of MiB, more than 0"),
    "temporary_mib": (_amount, "must be a whole number of MiB, more than 0"),
    "disruption_budgets": (lambda value: isinstance(value, bool), "must be true or false"),
    "user": (_amount, "must be a user's number, more than 0: instances do not run as root"),
}
"""Each member of the file: its check, and the rule for the error message."""
