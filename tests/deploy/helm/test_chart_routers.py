"""The routers of the Helm chart, by what Helm made of it: who reaches whom, by which names and ports."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from botocore.loaders import Loader

from tests.deploy.helm.helpers.rendered_objects import ROUTED, Json, kinds, of_kind, pod, rendered, router
from torpor_account.core.origins.cross_origin import own_hosts
from torpor_endpoint.__main__ import option_parser
from torpor_endpoint.host import Slot
from torpor_endpoint.host.kubernetes.manifests import PORT
from torpor_endpoint.host.kubernetes.object_names import labels
from torpor_endpoint.routing.router.router_options import ROUTER_OPTIONS, RouterOptions
from torpor_endpoint.routing.router.start import SHUTDOWN_S, check
from torpor_endpoint.starting.port_serving import GRACEFUL_S

Labels = Mapping[str, str]
INSTANCE = {**labels(Slot("shop", "AllTraffic", 0), "0123abcd", "4f"), "app.kubernetes.io/instance": "mine"}
STRANGER = {"app.kubernetes.io/name": "shop"}
RUNTIME: Json = Loader().load_service_model("sagemaker-runtime", "service-2")


def options(name: str) -> RouterOptions:
    """Those of a router, by its own parser."""
    parser = option_parser("router", ROUTER_OPTIONS)
    return RouterOptions(**vars(parser.parse_args(router(name)["spec"]["containers"][0]["args"])))


def container_port(template: Json) -> int:
    (port,) = template["spec"]["containers"][0]["ports"]
    assert port["name"] == "http"
    return int(port["containerPort"])


def targets(name: str) -> dict[str, tuple[Labels, int]]:
    """The pods that there are, each with its port."""
    return {
        "endpoint": (pod(name)["metadata"]["labels"], container_port(pod(name))),
        "router": (router(name)["metadata"]["labels"], container_port(router(name))),
        "instance": (INSTANCE, PORT),
        "names": ({"k8s-app": "kube-dns"}, 53),
        "stranger": (STRANGER, 443),
    }


def permits(rules: list[Json], way: str, peer: Labels, port: int, named: int) -> bool:
    """Whether rules of a NetworkPolicy are for a pod of this namespace, or of any, at a port. `named` is that of the
    name `http`."""

    def is_for(one: Json) -> bool:
        here = one.get("namespaceSelector", {}) == {} and "ipBlock" not in one
        return here and one.get("podSelector", {}).get("matchLabels", {}).items() <= peer.items()

    return any(
        any(is_for(one) for one in rule[way])
        and port in [named if one["port"] == "http" else one["port"] for one in rule["ports"]]
        for rule in rules
    )


@pytest.mark.parametrize("name", ROUTED)
def test_a_router_takes_the_options_of_its_pod(name: str) -> None:
    check(replace(options(name), trusted=None))  # the file of the authority is in the pod alone
    endpoint = pod(name)["spec"]["containers"][0]["args"]
    assert options(name).insecure is ("--auth" not in endpoint)
    assert router(name)["spec"]["containers"][0]["command"] == ["python", "-m", "torpor_endpoint.router"]


@pytest.mark.parametrize("name", ROUTED)
def test_selectors_find_routers_and_not_the_endpoint(name: str) -> None:
    deployment = of_kind(name, "Deployment", "-routers")["spec"]
    (spread,) = deployment["template"]["spec"]["topologySpreadConstraints"]
    selectors = [
        of_kind(name, "Service", "-routers")["spec"]["selector"],
        *(one["matchLabels"] for one in (deployment["selector"], spread["labelSelector"])),
        of_kind(name, "NetworkPolicy", "-routers")["spec"]["podSelector"]["matchLabels"],
    ]
    if name != "open.yaml":
        selectors.append(of_kind(name, "PodDisruptionBudget", "-routers")["spec"]["selector"]["matchLabels"])
    for selector in selectors:
        assert selector.items() <= router(name)["metadata"]["labels"].items()
        assert not selector.items() <= pod(name)["metadata"]["labels"].items()
    ours = of_kind(name, "Service")["spec"]["selector"].items()
    assert not ours <= router(name)["metadata"]["labels"].items()


@pytest.mark.parametrize("name", ROUTED)
def test_a_router_listens_where_its_service_and_its_probes_call(name: str) -> None:
    (container,) = router(name)["spec"]["containers"]
    assert options(name).port == container_port(router(name))
    assert of_kind(name, "Service", "-routers")["spec"]["ports"][0]["targetPort"] == "http"
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/_torpor/health", "port": "http"}


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("everything.yaml", "https://control.example.org:80"),
        ("open.yaml", "http://mine-torpor.models.svc:4700"),
        ("routers.yaml", "https://mine-torpor.models.svc:4700"),
    ],
)
def test_a_router_calls_the_endpoint_by_a_name_that_this_answers_to(name: str, url: str) -> None:
    arguments = pod(name)["spec"]["containers"][0]["args"]
    assert options(name).control == url
    assert f"--advertise={url}" in arguments
    assert f"--allow-host={url.split('/')[2].split(':')[0]}" in arguments
    assert url.endswith(f":{of_kind(name, 'Service')['spec']['ports'][0]['port']}")


@pytest.mark.parametrize("name", ROUTED)
def test_a_router_answers_to_the_names_by_which_it_is_called(name: str) -> None:
    own = own_hosts(("0.0.0.0",), options(name).allow_hosts)
    namespaced = [f"mine-torpor-routers.models{end}" for end in ("", ".svc", ".svc.cluster.local")]
    for host in ("10.244.0.7:4701", "mine-torpor-routers:4701", *namespaced):  # the first one is the kubelet's
        assert own.has_host(host)
    assert own.has_host("torpor.example.org") is ("Ingress" in kinds(name))
    assert not own.has_host("evil.example.com")


@pytest.mark.parametrize("name", ROUTED)
def test_a_router_reaches_the_endpoint_instances_and_names_and_nothing_else(name: str) -> None:
    policy = of_kind(name, "NetworkPolicy", "-routers")["spec"]
    ports = {port for _, port in targets(name).values()}
    reached = {
        (who, port)
        for who, (peer, _) in targets(name).items()
        for port in ports
        if permits(policy["egress"], "to", peer, port, 0)
    }
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert reached == {("endpoint", 4700), ("instance", PORT), ("names", 53)}


@pytest.mark.parametrize("name", ROUTED)
def test_the_endpoint_and_instances_take_the_calls_of_a_router(name: str) -> None:
    peer, _ = targets(name)["router"]
    for ending, port in (("mine-torpor", 4700), ("-instances", PORT)):
        rules = of_kind(name, "NetworkPolicy", ending)["spec"]["ingress"]
        assert permits(rules, "from", peer, port, container_port(pod(name)))
    instances = of_kind(name, "NetworkPolicy", "-instances")["spec"]["ingress"]
    assert not permits(instances, "from", STRANGER, PORT, 0)
    shares = name == "everything.yaml"
    assert permits(instances, "from", INSTANCE, PORT, 0) == shares


def test_callers_of_the_endpoint_may_call_routers_and_no_others() -> None:
    (rule,) = of_kind("everything.yaml", "NetworkPolicy", "-routers")["spec"]["ingress"]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": {"team": "shop"}}}]
    *_, further = of_kind("everything.yaml", "NetworkPolicy", "-routers")["spec"]["egress"]
    assert further["to"] == [{"ipBlock": {"cidr": "10.1.0.0/16"}}]


def ingress_paths(name: str) -> Iterator[tuple[str, str]]:
    """Each path with the name of its Service."""
    for one in rendered(name):
        if one["kind"] == "Ingress":
            (rule,) = one["spec"]["rules"]
            assert rule["host"] == "torpor.example.org"
            for path in rule["http"]["paths"]:
                yield path["path"], path["backend"]["service"]["name"]


@pytest.mark.parametrize("name", ["everything.yaml", "open.yaml"])
def test_the_ingress_leads_the_runtime_to_routers_and_all_else_to_the_endpoint(name: str) -> None:
    def service(path: str) -> str:
        return max(found for found in ingress_paths(name) if path.startswith(found[0]))[1]

    invocations = [one["http"]["requestUri"] for one in RUNTIME["operations"].values()]
    assert len(invocations) >= 3
    assert {service(path) for path in invocations} == {"mine-torpor-routers"}
    assert {service(path) for path in ("/", "/models/house.tar.gz", "/_torpor/")} == {"mine-torpor"}


def test_each_ingress_has_annotations_of_its_own() -> None:
    found = [one["metadata"]["annotations"] for one in rendered("everything.yaml") if one["kind"] == "Ingress"]
    assert sorted(map(str, found)) == ["{'example.org/body-size': '6m'}", "{'example.org/buffering': 'off'}"]


@pytest.mark.parametrize("name", ROUTED)
def test_a_router_has_no_token_and_stops_in_the_time_that_it_needs(name: str) -> None:
    spec: Any = router(name)["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in spec
    _, drained_s = spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert spec["terminationGracePeriodSeconds"] > int(drained_s) + GRACEFUL_S + SHUTDOWN_S


def test_a_router_trusts_the_endpoint_without_its_private_key() -> None:
    (volume,) = [one["secret"] for one in router("routers.yaml")["spec"]["volumes"] if "secret" in one]
    (mount,) = [
        one for one in router("routers.yaml")["spec"]["containers"][0]["volumeMounts"] if one["name"] == "authority"
    ]
    (item,) = volume["items"]
    assert (volume["secretName"], item["key"]) == ("torpor-endpoint-tls", "ca.crt")
    assert options("routers.yaml").trusted == f"{mount['mountPath']}/{item['path']}"
    assert options("everything.yaml").trusted is None


def test_either_a_number_of_routers_is_fixed_or_an_autoscaler_sets_it() -> None:
    assert of_kind("routers.yaml", "Deployment", "-routers")["spec"]["replicas"] == 2
    assert "HorizontalPodAutoscaler" not in kinds("routers.yaml")
    deployment = of_kind("everything.yaml", "Deployment", "-routers")
    scaler = of_kind("everything.yaml", "HorizontalPodAutoscaler", "-routers")["spec"]
    assert "replicas" not in deployment["spec"]
    assert scaler["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (3, 12)
    assert deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]


def test_without_routers_the_chart_makes_nothing_of_them() -> None:
    assert [one["metadata"]["name"] for one in rendered("smallest.yaml") if "router" in str(one["metadata"])] == []
