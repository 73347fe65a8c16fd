"""What a request may do by its HTTP method: a GET reads and changes nothing, since any web page can send one.

AWS's query services take any operation by GET too. Clients use that for links only, such as a presigned
GetCallerIdentity, by which EKS and Vault check who somebody is.
"""

from urllib.parse import parse_qsl

from torpor_endpoint.aws.errors import AwsError
from torpor_endpoint.aws.wire.asgi import AwsRequest
from torpor_endpoint.aws.wire.protocols import WireProtocol
from torpor_endpoint.aws.wire.query import Query

READING = ("Assume", "Check", "Decode", "Describe", "Get", "List", "Simulate")
"""How the names begin of the query operations that keep nothing. STS's Assume… give credentials, and forget them."""

READING_METHODS = ("GET", "HEAD")


def check_method(protocol: WireProtocol, request: AwsRequest) -> None:
    """Raises MethodNotAllowed for what is no POST, unless all that it asks for is to read by the query protocol."""
    if request.method == "POST":
        return
    actions = [value for name, value in parse_qsl(request.query) if name == "Action"]
    reads = isinstance(protocol, Query) and all(action.startswith(READING) for action in actions)
    if not (reads and request.method in READING_METHODS):
        name = " and ".join(actions) or protocol.operation(request)
        text = f"Send {name} by POST: a {request.method} changes nothing here, and may only read."
        raise AwsError("MethodNotAllowed", 405, text)
