"""Finds the cluster: from inside a pod, by its service account, or by a kubeconfig file. It calls nothing but `exec`.

The order is kubectl's: KUBECONFIG, then the service account of the pod, then `~/.kube/config`.
"""

import base64
import json
import os
import ssl
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torpor_endpoint.host import HostError

IN_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXEC_WITHIN_S = 30.0
"""A plugin for credentials may ask a person, or a cloud: not for ever."""

UNSUPPORTED: Mapping[str, str] = {
    "tls-server-name": "name a server that its certificate names",
    "proxy-url": "name a server that is reached without a proxy, such as a port that is forwarded",
    "username": "give a token, a client-certificate or a plugin (exec); Kubernetes dropped passwords with 1.19",
    "password": "give a token, a client-certificate or a plugin (exec); Kubernetes dropped passwords with 1.19",
    "auth-provider": "give a plugin (exec), as kubectl asks for since 1.26",
    "as": "name a user with the rights of its own",
    "as-uid": "name a user with the rights of its own",
    "as-groups": "name a user with the rights of its own",
    "as-user-extra": "name a user with the rights of its own",
}
"""Members of a cluster or a user that say how to call the API, and that are not supported, with what to do instead."""


@dataclass(frozen=True)
class Cluster:
    """Where the API is, and how to call it. `token` gives the bearer token of now; empty for a client certificate."""

    url: str
    namespace: str
    source: str
    tls: ssl.SSLContext | bool
    token: Callable[[], str] = field(repr=False)


def find_cluster(context: str, namespace: str, environment: Mapping[str, str] = os.environ) -> Cluster:
    """The cluster that this process is to use. Raises HostError that says where it looked."""
    named = [Path(one) for one in environment.get("KUBECONFIG", "").split(os.pathsep) if one]
    if len(named) > 1:
        raise HostError("KUBECONFIG names several files: name the one to use, `kubectl config view --flatten` makes it")
    if not named and not context and "KUBERNETES_SERVICE_HOST" in environment:
        return in_pod(namespace, environment)
    path = named[0] if named else Path(environment.get("HOME", "/")) / ".kube" / "config"
    if not path.exists() and named:
        raise HostError(f"there is no file {path}, which KUBECONFIG names")
    if not path.exists():
        raise HostError(
            f"there is no cluster to use: this is no pod of one, KUBECONFIG is not set, and {path} is missing"
        )
    return from_kubeconfig(path, context, namespace)


def in_pod(namespace: str, environment: Mapping[str, str], folder: Path = IN_POD) -> Cluster:
    """The cluster of this pod. Its token is read for each call, since the cluster replaces it. Raises HostError."""
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT", "443")
    url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    try:
        own = (folder / "namespace").read_text().strip()
        tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        (folder / "token").read_text()
    except OSError as error:
        raise HostError(
            f"this pod has no service account's token ({error}): set automountServiceAccountToken"
        ) from None
    return Cluster(url, namespace or own, "the service account", tls, lambda: (folder / "token").read_text().strip())


def from_kubeconfig(path: Path, context: str, namespace: str) -> Cluster:
    """The cluster of a context. Raises HostError that names the file."""
    import yaml

    try:
        document = yaml.safe_load(path.read_text())
        name = context or document["current-context"]
        chosen = _named(document, "contexts", name)["context"]
        cluster = _named(document, "clusters", chosen["cluster"])["cluster"]
        user = _named(document, "users", chosen["user"])["user"] or {}
        for member in (*cluster, *user):
            if member in UNSUPPORTED:
                raise HostError(f"{path}: {member} is not supported: {UNSUPPORTED[member]}")
        tls = _tls(cluster, user, path.parent)
        token = _token(user, path.parent)
        return Cluster(
            cluster["server"].rstrip("/"), namespace or chosen.get("namespace") or "default", str(path), tls, token
        )
    except KeyError as error:
        raise HostError(f"{path}: {error.args[0]} is missing") from None
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise HostError(f"{path}: it is no kubeconfig that can be used: {error}") from None


def _named(document: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    found = next((one for one in document.get(kind) or () if one.get("name") == name), None)
    if found is None:
        raise KeyError(f"the name {name} among its {kind}")
    row: Mapping[str, Any] = found
    return row


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path) -> ssl.SSLContext | bool:
    if not str(cluster["server"]).startswith("https:"):
        return False
    context = ssl.create_default_context()
    if authority := _content(cluster, "certificate-authority", folder):
        context = ssl.create_default_context(cadata=authority)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate, key = _content(user, "client-certificate", folder), _content(user, "client-key", folder)
    if certificate and key:
        _load_pair(context, certificate, key)
    return context


def _load_pair(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """OpenSSL reads a pair from files alone: this one is nobody else's, and is gone at once."""
    descriptor = os.memfd_create("kubeconfig")
    try:
        os.write(descriptor, f"{certificate}\n{key}\n".encode())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _content(row: Mapping[str, Any], name: str, folder: Path) -> str:
    """The text of a member that has it in place, in base 64, or names a file."""
    if inside := row.get(f"{name}-data"):
        return base64.b64decode(inside).decode()
    return (folder / row[name]).read_text() if row.get(name) else ""


def _token(user: Mapping[str, Any], folder: Path) -> Callable[[], str]:
    if path := user.get("tokenFile"):
        return lambda: (folder / path).read_text().strip()
    if plugin := user.get("exec"):
        return lambda: _from_plugin(plugin)
    return lambda: str(user.get("token", ""))


def _from_plugin(plugin: Mapping[str, Any]) -> str:
    """The token of a credential plugin, as EKS, GKE and AKS have them. Raises HostError."""
    command = [plugin["command"], *(plugin.get("args") or ())]
    asked = {"apiVersion": plugin.get("apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
    given = {row["name"]: row["value"] for row in plugin.get("env") or ()}
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(asked)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=EXEC_WITHIN_S,
            check=True,
        )
        return str(json.loads(done.stdout)["status"]["token"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        detail = getattr(error, "stderr", None) or b""
        said = detail.decode(errors="replace").strip().splitlines()[-1:] or [f"{type(error).__name__}: {error}"]
        raise HostError(f"the kubeconfig's credential plugin {command[0]} gave no token: {said[0][:300]}") from None
