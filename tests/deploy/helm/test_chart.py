"""The Helm chart, by what Helm made of it: `make helm` writes `rendered/`, and refuses what Kubernetes' schemas do."""

import tomllib
from pathlib import Path

import pytest

from tests.deploy.helm.helpers.rendered_objects import NAMES, ROUTED, kinds, of_kind, pod, pods, workload
from tests.deploy.helm.rendering import CHART, DIGEST, digest
from torpor_endpoint.__main__ import option_parser
from torpor_endpoint.host import Slot
from torpor_endpoint.host.kubernetes.api.role_rules import BUDGET_RIGHTS, RIGHTS
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
from torpor_endpoint.host.kubernetes.object_names import labels
from torpor_endpoint.options import Options
from torpor_endpoint.starting.endpoint_checks import CHECKS


def test_what_helm_made_is_of_this_chart() -> None:
    assert DIGEST.read_text().strip() == digest(), "the chart has changed: run `make helm`"


@pytest.mark.parametrize("name", NAMES)
def test_the_endpoint_takes_the_options_of_its_pod(name: str) -> None:
    options = Options(**vars(option_parser().parse_args(pod(name)["spec"]["containers"][0]["args"])))
    assert [f"{flag}: {rule}" for flag, good, rule in CHECKS if not good(options)] == []
    assert options.auth is not options.insecure


@pytest.mark.parametrize("name", ["smallest.yaml", "everything.yaml"])
def test_the_endpoint_reads_the_file_of_the_instances(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kubernetes.toml"
    path.write_text(of_kind(name, "ConfigMap")["data"]["kubernetes.toml"])
    settings = KubernetesSettings.read(path)
    assert settings.owner == "ConfigMap/mine-torpor"
    assert settings.labels == {"app.kubernetes.io/instance": "mine"}


def test_values_reach_the_pods_of_instances() -> None:
    found = tomllib.loads(of_kind("everything.yaml", "ConfigMap")["data"]["kubernetes.toml"])
    assert found["node_selector"] == {"pool": "models", "disk": 'say "ssd"'}
    assert found["tolerations"][1] == {"key": "spot", "operator": "Exists"}
    assert (found["service_account"], found["environment_secret"]) == ("s3-reader", "s3-keys")


def test_the_role_has_the_rights_that_the_endpoint_needs_and_no_others() -> None:
    *rules, owner = of_kind("smallest.yaml", "Role")["rules"]
    rights = RIGHTS + BUDGET_RIGHTS
    needed = [{"apiGroups": [one.group], "resources": [one.resource], "verbs": list(one.verbs)} for one in rights]
    assert rules == needed
    assert (owner["resourceNames"], owner["verbs"]) == (["mine-torpor"], ["get"])


@pytest.mark.parametrize("name", NAMES)
def test_pods_hold_to_the_restricted_profile(name: str) -> None:
    specs = [one["spec"] for one in pods(name)]
    for spec in specs:
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (one for spec in specs for one in spec["containers"]):
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert not container["securityContext"]["allowPrivilegeEscalation"]
        assert container["securityContext"]["readOnlyRootFilesystem"]


def test_an_image_is_named_by_its_digest_where_there_is_one() -> None:
    images = [one["image"] for spec in pods("everything.yaml") for one in spec["spec"]["containers"]]
    assert images == [f"registry.local/torpor-endpoint@sha256:{'0123456789abcdef' * 4}"] * 2
    assert pod("smallest.yaml")["spec"]["containers"][0]["image"] == "registry.local/torpor-endpoint:0.1.0"


@pytest.mark.parametrize("name", NAMES)
def test_a_node_is_asked_for_the_disk_that_a_pod_writes_to(name: str) -> None:
    containers = [one for spec in pods(name) for one in spec["spec"]["containers"]]
    assert [one for one in containers if "ephemeral-storage" not in one["resources"]["requests"]] == []


def test_records_in_a_database_bind_the_endpoint_to_no_machine() -> None:
    made = workload("standby.yaml")
    assert (made["kind"], made["spec"]["replicas"], made["spec"]["strategy"]) == ("Deployment", 2, {"type": "Recreate"})
    spec = made["spec"]["template"]["spec"]
    assert {one["tolerationSeconds"] for one in spec["tolerations"]} == {20}
    (container,) = spec["containers"]
    assert "--standby" in container["args"]
    assert [name for name in container if name.endswith("Probe")] == ["readinessProbe"]


def test_budgets_of_variants_are_the_endpoints_to_keep() -> None:
    assert tomllib.loads(of_kind("smallest.yaml", "ConfigMap")["data"]["kubernetes.toml"])["disruption_budgets"] is True
    assert "PodDisruptionBudget" not in kinds("smallest.yaml")
    budget = of_kind("everything.yaml", "PodDisruptionBudget")["spec"]
    assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


@pytest.mark.parametrize("name", NAMES)
def test_selectors_find_the_endpoints_pod(name: str) -> None:
    found = pod(name)["metadata"]["labels"].items()
    assert of_kind(name, "Service")["spec"]["selector"].items() <= found
    assert workload(name)["spec"]["selector"]["matchLabels"].items() <= found


def test_the_endpoint_alone_reaches_an_instance() -> None:
    policy = of_kind("smallest.yaml", "NetworkPolicy", "-instances")["spec"]
    instance = {**labels(Slot("shop", "AllTraffic", 0), "0123abcd", "4f"), "app.kubernetes.io/instance": "mine"}
    assert policy["podSelector"]["matchLabels"].items() <= instance.items()
    (rule,) = policy["ingress"]
    (peer,) = rule["from"]
    assert peer["podSelector"]["matchLabels"].items() <= pod("smallest.yaml")["metadata"]["labels"].items()
    assert not peer["podSelector"]["matchLabels"].items() <= instance.items()


def test_instances_that_share_artifacts_reach_each_other_and_no_others_do() -> None:
    policy = of_kind("everything.yaml", "NetworkPolicy", "-instances")["spec"]
    own = {"podSelector": policy["podSelector"]}
    assert own in policy["ingress"][0]["from"]
    assert {"to": [own], "ports": [{"port": 8080}]} in policy["egress"]
    closed = of_kind("smallest.yaml", "NetworkPolicy", "-instances")["spec"]
    assert {"podSelector": closed["podSelector"]} not in closed["ingress"][0]["from"]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_secret_is_made_or_printed(name: str) -> None:
    assert "Secret" not in kinds(name)
    assert [one for one in pods(name) if "env" in one["spec"]["containers"][0]] == []


def test_a_database_and_its_password_reach_the_endpoint() -> None:
    (container,) = pod("routers.yaml")["spec"]["containers"]
    assert "--database=postgresql://torpor@postgres.databases.svc:5432/torpor?sslmode=verify-full" in container["args"]
    assert [one["secretRef"]["name"] for one in container["envFrom"]] == ["s3-keys", "torpor-database"]


@pytest.mark.parametrize("name", NAMES)
def test_an_endpoint_with_routers_answers_no_invocations(name: str) -> None:
    assert ("--no-runtime" in pod(name)["spec"]["containers"][0]["args"]) is (name in ROUTED)


def test_an_endpoint_alone_has_no_rights_and_no_token() -> None:
    assert kinds("alone.yaml") == {"StatefulSet", "Service", "ServiceAccount"}
    assert pod("alone.yaml")["spec"]["automountServiceAccountToken"] is False


def test_a_change_of_the_file_restarts_the_endpoint() -> None:
    sums = {pod(name)["metadata"]["annotations"]["checksum/config"] for name in NAMES}
    assert len(sums) == len(NAMES)


def test_every_template_is_rendered_by_some_values() -> None:
    every = {kind for name in NAMES for kind in kinds(name)}
    texts = [path.read_text() for path in (CHART / "templates").rglob("*.yaml")]
    named = {line.removeprefix("kind: ") for text in texts for line in text.splitlines() if line.startswith("kind: ")}
    assert every == named
