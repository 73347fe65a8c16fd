"""S3 as a service: this endpoint's own object store, or another one that it leads to."""

from functools import partial

from torpor_endpoint.aws.wire.asgi import App
from torpor_endpoint.services.iam.policies.principals import ids_named
from torpor_endpoint.services.parts import ServiceParts
from torpor_endpoint.services.s3.app import S3App
from torpor_endpoint.services.s3.elsewhere import S3Elsewhere


def service(parts: ServiceParts) -> S3App:
    named = partial(ids_named, parts.iam, parts.account)
    return S3App(parts.objects, account=parts.account, region=parts.options.region, ids_named=named)


def compose(parts: ServiceParts) -> App:
    elsewhere = parts.options.s3_endpoint
    return service(parts) if elsewhere is None else S3Elsewhere(elsewhere)


def compose_cross_origin(parts: ServiceParts) -> App:
    """The same store for web pages of other origins, which it lets in bucket by bucket."""
    return service(parts).cross_origin
