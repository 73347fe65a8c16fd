"""Where the cluster is, and who calls it."""

import base64
import sys
from pathlib import Path

import pytest
import yaml

from tests.endpoint.helpers.fake_cluster.__main__ import kubeconfig
from tests.helpers.certificates import pair
from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.api.cluster import UNSUPPORTED, find_cluster, from_kubeconfig, in_pod


def written(folder: Path, text: str = kubeconfig("http://10.0.0.1:6443")) -> Path:
    path = folder / "kubeconfig"
    path.write_text(text)
    return path


def test_a_kubeconfig_names_the_cluster_the_namespace_and_the_token(tmp_path: Path) -> None:
    found = find_cluster("", "", {"KUBECONFIG": str(written(tmp_path))})
    assert (found.url, found.namespace, found.token()) == ("http://10.0.0.1:6443", "models", "let-me-in")
    assert find_cluster("", "other", {"KUBECONFIG": str(written(tmp_path))}).namespace == "other"


def test_a_token_file_is_read_for_each_call(tmp_path: Path) -> None:
    document = yaml.safe_load(kubeconfig("http://10.0.0.1:6443"))
    document["users"][0]["user"] = {"tokenFile": "token"}
    found = from_kubeconfig(written(tmp_path, yaml.safe_dump(document)), "", "")
    (tmp_path / "token").write_text("first\n")
    assert found.token() == "first"
    (tmp_path / "token").write_text("second")
    assert found.token() == "second"


def test_a_plugin_gives_the_token_or_its_last_line(tmp_path: Path) -> None:
    document = yaml.safe_load(kubeconfig("http://10.0.0.1:6443"))
    answer = '{"status": {"token": "from a cloud"}}'
    document["users"][0]["user"] = {"exec": {"command": "/bin/echo", "args": [answer]}}
    assert from_kubeconfig(written(tmp_path, yaml.safe_dump(document)), "", "").token() == "from a cloud"
    document["users"][0]["user"] = {"exec": {"command": "/bin/sh", "args": ["-c", "echo log in first >&2; exit 1"]}}
    with pytest.raises(HostError, match="/bin/sh gave no token: log in first"):
        from_kubeconfig(written(tmp_path, yaml.safe_dump(document)), "", "").token()


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_plugin_is_told_the_version_that_its_kubeconfig_names(tmp_path: Path, version: str) -> None:
    document = yaml.safe_load(kubeconfig("http://10.0.0.1:6443"))
    named = f"client.authentication.k8s.io/{version}"
    echo = "import json, os; told = json.loads(os.environ['KUBERNETES_EXEC_INFO']); "
    echo += "print(json.dumps({'status': {'token': told['apiVersion']}}))"
    plugin = {"apiVersion": named, "command": sys.executable, "args": ["-c", echo]}
    document["users"][0]["user"] = {"exec": plugin}
    assert from_kubeconfig(written(tmp_path, yaml.safe_dump(document)), "", "").token() == named


def test_a_pod_calls_by_its_service_account(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(pair(tmp_path, "ca").certificate.read_bytes())
    (tmp_path / "namespace").write_text("models")
    (tmp_path / "token").write_text("mine\n")
    found = in_pod("", {"KUBERNETES_SERVICE_HOST": "fd00::1"}, tmp_path)
    assert (found.url, found.namespace, found.token()) == ("https://[fd00::1]:443", "models", "mine")


def test_a_pod_without_a_token_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="set automountServiceAccountToken"):
        in_pod("", {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path)


@pytest.mark.parametrize("member", UNSUPPORTED)
@pytest.mark.parametrize(("rows", "row"), [("clusters", "cluster"), ("users", "user")])
def test_a_member_that_is_not_supported_is_refused_by_its_name(
    tmp_path: Path, rows: str, row: str, member: str
) -> None:
    document = yaml.safe_load(kubeconfig("http://10.0.0.1:6443"))
    document[rows][0][row][member] = "any"
    with pytest.raises(HostError, match=f"kubeconfig: {member} is not supported: (give|name) a"):
        from_kubeconfig(written(tmp_path, yaml.safe_dump(document)), "", "")


def no_context() -> str:
    return kubeconfig("http://10.0.0.1").replace("current-context: fake", "current-context: prod")


def bad_authority() -> str:
    inside = base64.b64encode(b"no certificate").decode()
    return kubeconfig("https://10.0.0.1").replace("server:", f"certificate-authority-data: {inside}, server:")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "it is no kubeconfig that can be used"),
        ("{}", "current-context is missing"),
        (no_context(), "the name prod among its contexts is missing"),
        (bad_authority(), "it is no kubeconfig that can be used"),
    ],
)
def test_a_bad_kubeconfig_is_refused_by_its_path(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(HostError, match=complaint):
        from_kubeconfig(written(tmp_path, text), "", "")


def test_where_no_cluster_is_known_it_is_said_where_one_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="there is no file /none, which KUBECONFIG names"):
        find_cluster("", "", {"KUBECONFIG": "/none"})
    with pytest.raises(
        HostError, match=r"this is no pod of one, KUBECONFIG is not set, and .*/.kube/config is missing"
    ):
        find_cluster("", "", {"HOME": str(tmp_path)})
