"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

OPERATIONS: Final = ("InvokeEndpoint", "InvokeEndpointAsync", "InvokeEndpointWithResponseStream")

DIFFERENCES: Final[Mapping[str, str]] = {
    "InvokeEndpoint": "Each answer has `Server-Timing`. At zero instances, Torpor holds a request and serves it. AWS fails "
    "the request unless the variant is serverless, and so does `--aws-strict`. Refuses EnableExplanations. "
    "The TargetModel of a component whose container is multi-model is not on AWS. Where an inference component has no copy, a request starts "
    "one and waits for it, unless `--aws-strict` refuses it as AWS does. Requests of one SessionId reach the instance whose model began the "
    "session while that instance is there, and others by a TargetModel's own rules; the endpoint remembers 16,384 sessions of a "
    "variant and forgets them when it ends. A PrefixAwareId reaches the container and chooses no instance. A TargetModel may have "
    "letters beyond US-ASCII. Custom attributes that a container answers beyond AWS's limits are a ModelError. A shadow variant gets "
    "its copy of a request when the caller's answer is on its way, refuses to be a TargetVariant, and drops copies beyond its limits. "
    "An answer may be larger than AWS's 6 MiB (serverless: 4 MiB). Where a script of AWS's images gets or answers something else is in "
    "`docs/reference/scripts.md`. "
    "A captured record has the target model in `torporTargetModel` and the version of its artifact in `torporModelVersion`, and only "
    "requests with a 2xx answer are captured.",
    "InvokeEndpointAsync": "A multi-model endpoint takes the header of TargetModel, and the other routing headers of InvokeEndpoint, "
    "which the operation does not have on AWS; `--aws-strict` refuses TargetModel there. An accepted request survives a crash, and is sent again after one: "
    "a container may get it twice. A request that the platform broke is sent up to three times; AWS publishes no number. A failure object is named like the result, "
    'with `-error.out`, and has what the container answered, or Torpor\'s reason as `{"message": …}`; AWS publishes neither. '
    "The messages to SNS have both `failureLocation` and `responseParameters` when there is a failure object, because what readers of AWS's messages expect "
    "contradicts itself. The log stream of failures is `<variant>/data-log`, without an instance: some fail before one has them. An answer needs no Content-Length. Invocations and the metrics of the model cache are published too. The requests of a deleted endpoint have failure objects and messages.",
    "InvokeEndpointWithResponseStream": "As InvokeEndpoint. A multi-model endpoint takes the header of TargetModel, which the "
    "operation does not have on AWS; `--aws-strict` refuses it there. AWS's time limit for a whole stream is not confirmed: "
    "Torpor has 8 minutes. The parts of a foreign container's answer are as its server sends them. A captured stream is one record, with `torporStream` for its end.",
}
