"""Writes a call in the one plain form of its protocol, so that moto runs what Torpor has read and authorised.

moto takes the operation and the parameters from a form, a query, a body or headers: from the first of these that has
any. A call could name one operation to Torpor and another one to moto. A plain call has everything in one place.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from torpor_account.aws.calls import unimplemented
from torpor_account.aws.errors import unsupported
from torpor_account.aws.service_models import ServiceModel, service_model
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_account.aws.wire.json_rpc import CONTENT_TYPES, JsonRpc
from torpor_account.aws.wire.protocols import protocol_of
from torpor_account.aws.wire.query import Query, fields_of
from torpor_account.aws.wire.scope import FORM

QUEUE = re.compile(r"/[0-9]+/[a-zA-Z0-9._-]+")
"""A queue's path: the form of a call of SQS may name its queue by it alone."""
NO_QUERY = "torpor="
"""A query with no parameter of any operation. Without one, moto would read a body of JSON as a form."""


def plain_call(service: str, operation: str, request: AwsRequest) -> AwsRequest:
    """The call with the parts that belong to it alone.

    Of the headers it has those of the protocol, and the signature, in which moto looks for the caller. Raises AwsError
    for a protocol that the service does not have, and Unanswered for one that moto does not have.
    """
    model, protocol = service_model(service), protocol_of(request)
    kept = {name: value for name, value in request.headers.items() if name == "authorization"}
    if isinstance(protocol, Query):
        _check("query", model)
        body = urlencode(dict(fields_of(request))).encode()
        return AwsRequest("POST", _path(service, request), {**kept, "content-type": FORM}, "", body)
    if isinstance(protocol, JsonRpc):
        _check("json", model)
        if protocol.content_type not in CONTENT_TYPES:
            raise unsupported(f"The content type is {protocol.content_type}: send one of {', '.join(CONTENT_TYPES)}.")
        own = {"content-type": protocol.content_type, "x-amz-target": f"{model.metadata['targetPrefix']}.{operation}"}
        return AwsRequest("POST", "/", {**kept, **own}, NO_QUERY, request.body)
    raise unimplemented(service, operation)  # moto has no CBOR


def _check(protocol: str, model: ServiceModel) -> None:
    metadata: Mapping[str, Any] = model.metadata
    once = ["query"] if "awsQueryCompatible" in metadata else []
    if protocol not in (*metadata["protocols"], *once):
        raise unsupported(f"{model.service_name} does not have the protocol {protocol} of this request.")


def _path(service: str, request: AwsRequest) -> str:
    return request.path if service == "sqs" and QUEUE.fullmatch(request.path) else "/"
