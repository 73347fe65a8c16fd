"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

OPERATIONS: Final = ("InvokeEndpoint",)
"""What is answered. InvokeEndpointAsync and InvokeEndpointWithResponseStream are refused at once, by name."""

DIFFERENCES: Final[Mapping[str, str]] = {
    "InvokeEndpoint": "Each answer has `Server-Timing`. At zero instances a request is held and served, where AWS fails it "
    "unless the variant is serverless (`--aws-strict` does so too). TargetContainerHostname, InferenceComponentName and "
    "EnableExplanations are refused. A SessionId reaches the container, but need not reach the same instance each time. An "
    "answer may be larger than AWS's 6 MiB (serverless: 4 MiB).",
}
