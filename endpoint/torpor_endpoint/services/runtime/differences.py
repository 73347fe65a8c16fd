"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

OPERATIONS: Final = ("InvokeEndpoint",)
"""The operations of the runtime. It refuses InvokeEndpointAsync and InvokeEndpointWithResponseStream at once, by name."""

DIFFERENCES: Final[Mapping[str, str]] = {
    "InvokeEndpoint": "Each answer has `Server-Timing`. At zero instances, Torpor holds a request and serves it. AWS fails "
    "the request unless the variant is serverless, and so does `--aws-strict`. Refuses TargetContainerHostname, "
    "InferenceComponentName and EnableExplanations. Requests of one SessionId may reach different instances; the container "
    "gets the SessionId. An answer may be larger than AWS's 6 MiB (serverless: 4 MiB). "
    "A captured record has the target model in `torporTargetModel`, and only requests with a 2xx answer are captured.",
}
