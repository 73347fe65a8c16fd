"""Requests that botocore's own signers have signed, as they go over the wire."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from torpor_account.core.access.claims import SignedRequest

HOST = "127.0.0.1:4700"
KEY = "AKIDEXAMPLE000000000"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def signed(
    service: str,
    method: str = "POST",
    target: str = "/",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    token: str | None = None,
    link: bool = False,
    secret: str = SECRET,
    region: str = "us-east-1",
) -> SignedRequest:
    """A request as botocore signs it now: in a header, or as a presigned `link`."""
    request = AWSRequest(method, f"http://{HOST}{target}", dict(headers or {}), body)
    if service == "s3" and not link:
        request.context["client_config"] = _PayloadSigning()
    credentials = Credentials(KEY, secret, token)
    header, query = (S3SigV4Auth, S3SigV4QueryAuth) if service == "s3" else (SigV4Auth, SigV4QueryAuth)
    signer = (query if link else header)(credentials, service, region)
    signer.add_auth(request)
    return wire(request.prepare())


def wire(prepared: Any) -> SignedRequest:
    """The request as a server reads it. `Host` is added, as http.client does it."""
    url = urlsplit(prepared.url)
    given = [
        (name.lower().encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in prepared.headers.items()
    ]
    hosts = [] if any(name == b"host" for name, _ in given) else [(b"host", HOST.encode())]
    return SignedRequest(prepared.method, url.path.encode() or b"/", url.query.encode(), [*hosts, *given])


class _PayloadSigning:
    s3: Mapping[str, bool] = {"payload_signing_enabled": True}
