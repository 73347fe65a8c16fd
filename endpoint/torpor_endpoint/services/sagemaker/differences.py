"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

_WITHOUT_EFFECT: Final = (
    "DeploymentConfig is kept and shown, without effect: every deployment is all at once, and no request is lost."
)

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateModel": "Takes one container. Refuses model packages, inference components, and manifests and hub access in "
    "S3DataSource. VpcConfig, image configuration and network isolation are kept without effect. The artifact is checked when "
    "it is first used.",
    "CreateEndpointConfig": "A variant may have MinInstanceCount 0, one of many models ServerlessConfig, and a serverless one data capture; `--aws-strict` refuses these. "
    "Refuses async inference, shadow variants, explainers, and instance types that are not in the catalogue. "
    "These are kept without effect: a variant's volume, core dumps, SSM, AMI, accelerators and capacity reservations, "
    "RoutingConfig, ScaleInPolicy, ModelDataDownloadTimeoutInSeconds, MetricsConfig and KmsKeyId, also that of DataCaptureConfig.",
    "CreateEndpoint": f"The endpoint is in service after about a second. {_WITHOUT_EFFECT}",
    "UpdateEndpoint": f"{_WITHOUT_EFFECT} As AWS documents, a failed endpoint can only be deleted.",
    "DeleteEndpoint": "The endpoint is gone after about a second. Its metrics and logs stay.",
    "ListTags": "One answer lists all tags: a resource has 50 at most.",
}
