"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

_WITHOUT_EFFECT: Final = "DeploymentConfig is kept and shown: every deployment is all at once, with no request lost."

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateModel": "One container. Model packages and inference components are refused; VpcConfig, image configuration and "
    "network isolation are kept without effect. The artifact is looked at when it is used. Of S3DataSource, manifests and hub "
    "access are refused.",
    "CreateEndpointConfig": "Also for many models: ServerlessConfig, and MinInstanceCount 0 (refused under `--aws-strict`). "
    "Async inference, shadow variants, explainers and data capture are refused. Instance types are those of the catalogue. "
    "Of a variant, what concerns machines and networks is kept without effect: volume, core dumps, SSM, AMI, accelerators, "
    "capacity reservations; so are RoutingConfig, ScaleInPolicy, ModelDataDownloadTimeoutInSeconds, MetricsConfig, KmsKeyId.",
    "CreateEndpoint": f"Ready in a second or so. {_WITHOUT_EFFECT}",
    "UpdateEndpoint": f"{_WITHOUT_EFFECT} A failed endpoint can only be deleted, as AWS says.",
    "DeleteEndpoint": "Done in a second or so; metrics and logs stay.",
    "ListTags": "All at once: a resource has 50 at most.",
}
