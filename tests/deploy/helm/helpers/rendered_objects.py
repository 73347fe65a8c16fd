"""The objects that Helm made of the chart, as tests read them."""

from functools import cache
from typing import Any

import yaml

from tests.deploy.helm.rendering import RENDERED, VALUES

Json = dict[str, Any]
NAMES = [path.name for path in VALUES]
ROUTED = ["everything.yaml", "open.yaml", "routers.yaml"]
"""Those with routers."""


@cache
def rendered(name: str) -> list[Json]:
    """They are shared: no test changes them."""
    return [one for one in yaml.safe_load_all((RENDERED / name).read_text()) if one]


def of_kind(name: str, kind: str, ending: str = "torpor") -> Json:
    return next(one for one in rendered(name) if one["kind"] == kind and one["metadata"]["name"].endswith(ending))


def kinds(name: str) -> set[str]:
    return {one["kind"] for one in rendered(name)}


def pod(name: str) -> Json:
    """The endpoint's."""
    found: Json = workload(name)["spec"]["template"]
    return found


def workload(name: str) -> Json:
    """What keeps the endpoint's pod."""
    return of_kind(name, "StatefulSet" if "StatefulSet" in kinds(name) else "Deployment")


def router(name: str) -> Json:
    """A router's pod."""
    found: Json = of_kind(name, "Deployment", "-routers")["spec"]["template"]
    return found


def pods(name: str) -> list[Json]:
    return [pod(name), *([router(name)] if name in ROUTED else [])]
