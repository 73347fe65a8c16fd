"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

OPERATIONS: Final = ("InvokeEndpoint",)
"""What is answered. InvokeEndpointAsync and InvokeEndpointWithResponseStream are refused at once, by name."""

DIFFERENCES: Final[Mapping[str, str]] = {
    "InvokeEndpoint": "Each answer has `Server-Timing`. At zero instances a request is held and served, where AWS fails it "
    "(`--aws-strict` does too). TargetContainerHostname and InferenceComponentName are refused; a session id is not kept, "
    "and EnableExplanations is ignored. An answer may be larger than AWS's 6 MiB (serverless: 4 MiB).",
}
