"""Checks the HTTP method of a request: a GET may only read, since any web page can send one.

AWS's query services accept any operation by GET. Clients use that only for links, such as the presigned
GetCallerIdentity with which EKS and Vault verify a caller's identity.
"""

from urllib.parse import parse_qsl

from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_account.aws.wire.protocols import WireProtocol
from torpor_account.aws.wire.query import Query

READING = ("Assume", "Check", "Decode", "Describe", "Get", "List", "Simulate")
"""Prefixes of the query operations that change nothing. STS's Assume… return credentials and store none."""

READING_METHODS = ("GET", "HEAD")


def check_method(protocol: WireProtocol, request: AwsRequest) -> None:
    """Raises MethodNotAllowed unless the request is a POST, or a GET or HEAD that reads by the query protocol."""
    if request.method == "POST":
        return
    actions = [value for name, value in parse_qsl(request.query) if name == "Action"]
    reads = isinstance(protocol, Query) and all(action.startswith(READING) for action in actions)
    if not (reads and request.method in READING_METHODS):
        name = " and ".join(actions) or protocol.operation(request)
        text = f"Send {name} by POST: a {request.method} request may only read."
        raise AwsError("MethodNotAllowed", 405, text)
