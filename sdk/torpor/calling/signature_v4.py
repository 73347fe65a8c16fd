"""Signs one request with AWS's Signature Version 4, as botocore's `SigV4Auth` does. It reads no clock."""

import hmac
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from time import gmtime, strftime
from typing import NamedTuple, Protocol
from urllib.parse import quote

from botocore.utils import normalize_url_path

ALGORITHM = "AWS4-HMAC-SHA256"
PATHS_CACHED = 1024


class Credentials(Protocol):
    """botocore's frozen credentials. Only credentials that expire have a token."""

    @property
    def access_key(self) -> str: ...
    @property
    def secret_key(self) -> str: ...
    @property
    def token(self) -> str | None: ...


class SignedPost(NamedTuple):
    """A POST request. The path is quoted, header names are in lower case, and `host` is one of them."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Signer:
    """Signs requests for one service in one region. The signing key of a day is made once."""

    def __init__(self, region: str, service: str) -> None:
        self._scope = f"{region}/{service}/aws4_request"
        self._cached: tuple[tuple[str, str], bytes] = (("", ""), b"")

    def signed(self, request: SignedPost, credentials: Credentials, now_s: float) -> dict[str, str]:
        """The request's headers with its time, the session's token and the signature. `now_s` is in epoch seconds."""
        moment = strftime("%Y%m%dT%H%M%SZ", gmtime(now_s))
        headers = {**request.headers, "x-amz-date": moment}
        if credentials.token:
            headers["x-amz-security-token"] = credentials.token
        names = sorted(headers)
        lines = "".join([f"{name}:{' '.join(headers[name].split())}\n" for name in names])
        signed = ";".join(names)
        canonical = f"POST\n{_canonical(request.path)}\n\n{lines}\n{signed}\n{sha256(request.body).hexdigest()}"
        scope = f"{moment[:8]}/{self._scope}"
        text = f"{ALGORITHM}\n{moment}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(self._key(credentials.secret_key, moment[:8]), text.encode(), "sha256").hex()
        credential = f"{credentials.access_key}/{scope}"
        headers["authorization"] = f"{ALGORITHM} Credential={credential}, SignedHeaders={signed}, Signature={signature}"
        return headers

    def _key(self, secret_key: str, date: str) -> bytes:
        """The signing key of a day. Two threads may both make it; each reads and writes the cached pair atomically."""
        made_of, key = self._cached
        if made_of != (secret_key, date):
            key = f"AWS4{secret_key}".encode()
            for part in (date, *self._scope.split("/")):
                key = hmac.digest(key, part.encode(), "sha256")
            self._cached = (secret_key, date), key
        return key


@lru_cache(PATHS_CACHED)
def _canonical(path: str) -> str:
    """The path quoted once more, as for every service except S3."""
    return quote(normalize_url_path(path), safe="/~")
