"""What a web page of another origin may ask of S3: what the CORS configurations of the buckets that it names allow.

AWS serves every request and leaves it to the browser to hide the answer from the page, since there a signature decides
who may do what. Here none is verified, so a request that no rule allows is refused.
"""

from collections.abc import Callable
from typing import Final

from torpor_endpoint.core.cors import CorsRule, PageRequest, header_names, permission
from torpor_endpoint.services.s3.errors import Refusal, S3Error
from torpor_endpoint.services.s3.names import copy_source
from torpor_endpoint.services.s3.operations.cors_rules import cors_rules
from torpor_endpoint.services.s3.wire.exchange import S3Request
from torpor_endpoint.services.s3.wire.parsing import parsed

PREFLIGHT: Final = "OPTIONS"

_NOT_ALLOWED: Final = (
    "CORSResponse: This CORS request is not allowed. This is usually because the evalution of Origin, request method / "
    "Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec."
)
_HERE: Final = (
    " Torpor verifies no signature, so it refuses what a web page of another origin sends: allow it in the CORS "
    "configuration of the bucket (PutBucketCors), or start the endpoint with --allow-origin. See docs/browsers.md."
)

Configuration = Callable[[str, str], bytes | None]
"""The document that is kept of a bucket under a sub-resource's name."""


def let_in(kept: Configuration, request: S3Request) -> dict[str, str]:
    """The headers with which the answer to this request tells the browser that its page may have it.

    Raises AccessForbidden for what no rule of the bucket allows, and for a copy whose source's bucket does not let the
    page read.
    """
    asked = _asked(request)
    told = permission(_rules(kept, request.address.bucket), asked)
    if told is None:
        raise _forbidden(kept, request.address.bucket, asked)
    source = request.headers.get("x-amz-copy-source")
    if source is not None:
        bucket, reading = copy_source(source).bucket, PageRequest(asked.origin, "GET")
        if permission(_rules(kept, bucket), reading) is None:
            raise _forbidden(kept, bucket, reading)
    return told


def no_origin() -> S3Error:
    """AWS, of a preflight that says no origin."""
    return S3Error(Refusal.BadRequest, "Insufficient information. Origin request header needed.")


def _asked(request: S3Request) -> PageRequest:
    origin = request.headers.get("origin", "")
    if request.method != PREFLIGHT:
        return PageRequest(origin, request.method)
    if not origin:
        raise no_origin()
    method = request.headers.get("access-control-request-method")
    if method is None:
        raise S3Error(Refusal.BadRequest, "Invalid Access-Control-Request-Method: null")
    return PageRequest(origin, method, header_names(request.headers.get("access-control-request-headers", "")))


def _rules(kept: Configuration, bucket: str | None) -> tuple[CorsRule, ...]:
    document = kept(bucket, "cors") if bucket else None
    return cors_rules(parsed(document, "CORSConfiguration")) if document else ()


def _forbidden(kept: Configuration, bucket: str | None, asked: PageRequest) -> S3Error:
    configured = bucket is not None and kept(bucket, "cors") is not None
    text = _NOT_ALLOWED if configured else Refusal.AccessForbidden.text
    where = {"BucketName": bucket} if bucket else {}
    return S3Error(Refusal.AccessForbidden, f"{text}{_HERE}", Method=asked.method, ResourceType="OBJECT", **where)
