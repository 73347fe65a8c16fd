"""Finds the one object that a model package is made of, and says which version of it was registered."""

from collections.abc import Mapping
from typing import Any

from torpor_endpoint.core.registry.package_records import ModelPackage


def artifact_url(request: Mapping[str, Any]) -> str:
    """The URL of the one object that the package's one container loads; empty if there is no such object. `request` has
    CreateModelPackage's members."""
    containers = request.get("InferenceSpecification", {}).get("Containers", ())
    if len(containers) != 1:
        return ""
    source = containers[0].get("ModelDataSource", {}).get("S3DataSource", {})
    named = source.get("S3Uri", "") if source.get("S3DataType") == "S3Object" else ""
    url: str = containers[0].get("ModelDataUrl") or named
    _, _, key = url.removeprefix("s3://").partition("/")
    return url if url.startswith("s3://") and key and not key.endswith("/") else ""


def place_of(url: str) -> tuple[str, str]:
    """The bucket and the key of an artifact's URL."""
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key


def expected_etag(package: ModelPackage) -> str:
    """The ETag that the artifact should have: the one that the caller gave (ModelDataETag), else the one that it had
    when the package was registered; empty if neither is known."""
    [container] = package.request["InferenceSpecification"]["Containers"]
    given: str = container.get("ModelDataETag") or package.etag
    return given.strip('"')
