"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

OPERATIONS: Final = ("InvokeEndpoint", "InvokeEndpointWithResponseStream")
"""The operations of the runtime. It refuses InvokeEndpointAsync at once, by name."""

DIFFERENCES: Final[Mapping[str, str]] = {
    "InvokeEndpoint": "Each answer has `Server-Timing`. At zero instances, Torpor holds a request and serves it. AWS fails "
    "the request unless the variant is serverless, and so does `--aws-strict`. Refuses TargetContainerHostname, "
    "InferenceComponentName and EnableExplanations. Requests of one SessionId may reach different instances; the container "
    "gets the SessionId. An answer may be larger than AWS's 6 MiB (serverless: 4 MiB).",
    "InvokeEndpointWithResponseStream": "As InvokeEndpoint. A multi-model endpoint takes the header of TargetModel, which the "
    "operation does not have on AWS; `--aws-strict` refuses it there. AWS's time limit for a whole stream is not confirmed: "
    "Torpor has 8 minutes. The parts of a foreign container's answer are as its server sends them.",
}
