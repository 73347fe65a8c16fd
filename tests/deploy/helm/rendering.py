"""`make helm`: renders the chart by Helm itself, and checks it by Helm's lint and by Kubernetes' own schemas.

Helm and the schemas have an environment of their own: 0.4 GB. What Helm made of each file in `values/` is kept beside,
in `rendered/`, with the digest of the chart, so that the tests of every run read it without Helm.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CHART = HERE.parent.parent.parent / "deploy" / "helm" / "torpor"
VALUES = sorted((HERE / "values").glob("*.yaml"))
RENDERED = HERE / "rendered"
DIGEST = RENDERED / "SHA256"
RELEASE, NAMESPACE = "mine", "models"
KUBERNETES = ("1.27", "1.30", "1.33", "1.37")
"""The versions whose schemas hold."""
WARNING = 2
WITHOUT_SCHEMA = ("ServiceMonitor",)
IMAGES: dict[str, Any] = {"image": {"repository": "r"}, "instances": {"image": {"repository": "i"}}}
BAD_VALUES: dict[str, dict[str, Any]] = {
    "image.repository must name an image": {},
    "instances.image.repository must name an image": {"image": {"repository": "r"}},
    "additional properties": {"imagee": {}},
    "value must be one of": {"instances": {"runOn": "ray"}},
    "networkPolicy.instanceEgress must let instances reach s3.endpoint": {
        **IMAGES,
        "s3": {"endpoint": "https://s3.example.org"},
    },
    "ingress.host must be the name that clients call": {
        "image": {"repository": "r"},
        "instances": {"runOn": "local"},
        "ingress": {"enabled": True},
    },
    "routers need instances.runOn kubernetes": {
        "image": {"repository": "r"},
        "instances": {"runOn": "local"},
        "routers": {"replicas": 1},
    },
    "tls.existingSecret must name a Secret": {**IMAGES, "routers": {"replicas": 1, "existingSecret": "k"}},
    "routers.existingSecret must name a Secret": {
        **IMAGES,
        "routers": {"autoscaling": {"enabled": True}},
        "tls": {"existingSecret": "t"},
    },
    "routers.autoscaling.minReplicas must not be more": {
        **IMAGES,
        "endpoint": {"auth": False},
        "routers": {"autoscaling": {"enabled": True, "minReplicas": 9}},
    },
    "endpoint.standby needs records that two pods share": {**IMAGES, "endpoint": {"standby": True}},
    "does not match pattern '^(sha256:": {"image": {"repository": "r", "digest": "latest"}},
    "minimum: got -1, want 0": {**IMAGES, "routers": {"replicas": -1}},
    "database.url must have no password": {
        **IMAGES,
        "database": {"url": "postgresql://torpor:secret@db/torpor"},
    },
}
"""Values that Helm must refuse, by what it must say."""


def digest() -> str:
    """The digest of the chart and of the values."""
    found = hashlib.sha256()
    for path in sorted(path for path in (*CHART.rglob("*"), *VALUES) if path.is_file()):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def main() -> None:
    """Write `rendered/`. Exits with 1 and the fault for a chart that is not good."""
    import helm_python as helm
    import yaml

    linted = helm.lint(str(CHART), values=yaml.safe_load(VALUES[0].read_text()))["messages"]
    problems = [f"lint: {one}" for one in linted if one["severity"] >= WARNING]
    RENDERED.mkdir(exist_ok=True)
    for path in VALUES:
        with helm.Chart.load(str(CHART)) as chart:
            made = chart.render(yaml.safe_load(path.read_text()), name=RELEASE, namespace=NAMESPACE)
        texts = [text.strip() for name, text in sorted(made.items()) if name.endswith(".yaml") and text.strip()]
        (RENDERED / path.name).write_text("\n---\n".join(texts) + "\n")
        documents = [one for text in texts for one in yaml.safe_load_all(text)]
        problems += [f"{path.name}: {fault}" for one in documents for fault in faults(one)]
    problems += [f"launched: {fault}" for one in launched() for fault in faults(one)]
    problems += [f"not refused: {why}" for why, values in BAD_VALUES.items() if why not in refusal(values)]
    DIGEST.write_text(digest() + "\n")
    print(
        "\n".join(problems) or f"Helm {helm.helm_sdk_version()} and Kubernetes {', '.join(KUBERNETES)} take the chart."
    )
    sys.exit(bool(problems))


def faults(document: dict[str, Any]) -> list[str]:
    """What Kubernetes would refuse of an object."""
    import kubernetes_validate

    if document["kind"] in WITHOUT_SCHEMA:
        return []
    found = []
    for version in KUBERNETES:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as fault:
            found.append(
                f"{document['kind']} {document['metadata']['name']} in {version}: {str(fault).splitlines()[0]}"
            )
    return found


def refusal(values: dict[str, Any]) -> str:
    """What Helm says of values that it refuses."""
    import helm_python as helm

    try:
        with helm.Chart.load(str(CHART)) as chart:
            chart.validate_schema(values)
            chart.render(values, name=RELEASE, namespace=NAMESPACE)
    except helm.HelmError as fault:
        return f"{fault} {getattr(fault, 'detail', '')}"
    return ""


def launched() -> list[dict[str, Any]]:
    """The objects that the endpoint makes for an instance."""
    from torpor_endpoint.host import LaunchSpec, Resources, Slot
    from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
    from torpor_endpoint.host.kubernetes.manifests import Generation, deployment, disruption_budget, secret

    slot = Slot("shop", "AllTraffic", 0)
    launch, spec = Generation(slot, "0123abcd", "4f"), LaunchSpec(slot, {"NAME": "value"}, None, Resources(2, 8192))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "torpor", "uid": "u"}
    settings = KubernetesSettings("i", pull_secrets=("k",), tolerations=({"key": "k", "operator": "Exists"},))
    return [
        json.loads(json.dumps(one))
        for one in (
            deployment(launch, spec, settings, owner),
            secret(launch, spec, b"", "u"),
            disruption_budget("shop", "AllTraffic", "0123abcd", owner),
        )
    ]


if __name__ == "__main__":
    main()
