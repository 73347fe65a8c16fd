"""AWS's Signature Version 4 of one request, as botocore's `SigV4Auth` makes it. It reads no clock and sends nothing."""

import hmac
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from time import gmtime, strftime
from typing import NamedTuple, Protocol
from urllib.parse import quote

from botocore.utils import normalize_url_path

ALGORITHM = "AWS4-HMAC-SHA256"
PATHS_KEPT = 1024


class Credentials(Protocol):
    """botocore's frozen credentials. The token is that of credentials that expire."""

    @property
    def access_key(self) -> str: ...
    @property
    def secret_key(self) -> str: ...
    @property
    def token(self) -> str | None: ...


class SignedPost(NamedTuple):
    """A POST to a path that is quoted. Header names are in lower case, and `host` is one of them."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Signer:
    """Signs for one service in one region. A day's signing key is made once."""

    def __init__(self, region: str, service: str) -> None:
        self._scope = f"{region}/{service}/aws4_request"
        self._kept: tuple[tuple[str, str], bytes] = (("", ""), b"")

    def signed(self, request: SignedPost, credentials: Credentials, now_s: float) -> dict[str, str]:
        """The request's headers, with its moment (epoch seconds), the session's token and the signature."""
        moment = strftime("%Y%m%dT%H%M%SZ", gmtime(now_s))
        headers = {**request.headers, "x-amz-date": moment}
        if credentials.token:
            headers["x-amz-security-token"] = credentials.token
        names = sorted(headers)
        lines = "".join([f"{name}:{' '.join(headers[name].split())}\n" for name in names])
        signed = ";".join(names)
        asked = f"POST\n{_canonical(request.path)}\n\n{lines}\n{signed}\n{sha256(request.body).hexdigest()}"
        scope = f"{moment[:8]}/{self._scope}"
        text = f"{ALGORITHM}\n{moment}\n{scope}\n{sha256(asked.encode()).hexdigest()}"
        signature = hmac.digest(self._key(credentials.secret_key, moment[:8]), text.encode(), "sha256").hex()
        credential = f"{credentials.access_key}/{scope}"
        headers["authorization"] = f"{ALGORITHM} Credential={credential}, SignedHeaders={signed}, Signature={signature}"
        return headers

    def _key(self, secret_key: str, date: str) -> bytes:
        """Of two threads that find it old, both make it; each reads and writes the pair as one."""
        made_of, key = self._kept
        if made_of != (secret_key, date):
            key = f"AWS4{secret_key}".encode()
            for part in (date, *self._scope.split("/")):
                key = hmac.digest(key, part.encode(), "sha256")
            self._kept = (secret_key, date), key
        return key


@lru_cache(PATHS_KEPT)
def _canonical(path: str) -> str:
    """Quoted once more, as every service but S3 has it."""
    return quote(normalize_url_path(path), safe="/~")
