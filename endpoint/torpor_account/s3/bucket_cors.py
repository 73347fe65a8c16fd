"""Allows requests of web pages of other origins by the CORS configurations of the buckets that the requests name.

AWS serves every request, and the browser hides the answer from the page: there a signature decides what a caller may
do. Torpor refuses a request that no rule allows, since it may verify no signature.
"""

from collections.abc import Callable
from typing import Final

from torpor_account.core.origins.cors import CorsRule, PageRequest, header_names, permission
from torpor_account.s3.bucket_names import copy_source
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.operations.cors_rules import cors_rules
from torpor_account.s3.wire.http_exchange import S3Request
from torpor_account.s3.wire.parsing import parsed

PREFLIGHT: Final = "OPTIONS"

_NOT_ALLOWED: Final = (
    "CORSResponse: This CORS request is not allowed. This is usually because the evalution of Origin, request method / "
    "Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec."
)
_HERE: Final = (
    " Torpor refuses requests of web pages of other origins that no rule allows: allow this one in the CORS "
    "configuration of the bucket (PutBucketCors), or start the endpoint with --allow-origin. "
    "See docs/reference/browsers.md."
)

Configuration = Callable[[str, str], bytes | None]
"""Takes a bucket and the name of a sub-resource; returns the stored document."""


def allow(stored: Configuration, request: S3Request) -> dict[str, str]:
    """The headers that let the browser show the answer to the page.

    Raises AccessForbidden if no rule of the bucket allows the request, or if a copy's source bucket does not let the
    page read.
    """
    page = _page_request(request)
    allowing = permission(_rules(stored, request.address.bucket), page)
    if allowing is None:
        raise _forbidden(stored, request.address.bucket, page)
    source = request.headers.get("x-amz-copy-source")
    if source is not None:
        bucket, reading = copy_source(source).bucket, PageRequest(page.origin, "GET")
        if permission(_rules(stored, bucket), reading) is None:
            raise _forbidden(stored, bucket, reading)
    return allowing


def no_origin() -> S3Error:
    """AWS's error for a preflight without an origin."""
    return S3Error(Refusal.BadRequest, "Insufficient information. Origin request header needed.")


def _page_request(request: S3Request) -> PageRequest:
    origin = request.headers.get("origin", "")
    if request.method != PREFLIGHT:
        return PageRequest(origin, request.method)
    if not origin:
        raise no_origin()
    method = request.headers.get("access-control-request-method")
    if method is None:
        raise S3Error(Refusal.BadRequest, "Invalid Access-Control-Request-Method: null")
    return PageRequest(origin, method, header_names(request.headers.get("access-control-request-headers", "")))


def _rules(stored: Configuration, bucket: str | None) -> tuple[CorsRule, ...]:
    document = stored(bucket, "cors") if bucket else None
    return cors_rules(parsed(document, "CORSConfiguration")) if document else ()


def _forbidden(stored: Configuration, bucket: str | None, page: PageRequest) -> S3Error:
    configured = bucket is not None and stored(bucket, "cors") is not None
    text = _NOT_ALLOWED if configured else Refusal.AccessForbidden.text
    where = {"BucketName": bucket} if bucket else {}
    return S3Error(Refusal.AccessForbidden, f"{text}{_HERE}", Method=page.method, ResourceType="OBJECT", **where)
