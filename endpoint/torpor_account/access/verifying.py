"""Verifies one request: its signature, its token, and from these who calls. It answers nothing and reads no body.

A request is for the endpoint's own region, as on AWS, where another region has another endpoint: a caller cannot choose
the region for which its policies are asked.
"""

import hmac
import logging
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from torpor_account.access.problems import (
    NotAuthentic,
    Problem,
    bad_token,
    database_away,
    expired_token,
    not_authentic,
    unknown_key,
    wrong_region_for_s3,
)
from torpor_account.aws.wire.asgi import Scope
from torpor_account.core.access.claims import BadSignature, Claim, Flaw, SignedRequest, claim_of, header_fields
from torpor_account.core.access.needs import AccessPlace, CallerAccess
from torpor_account.core.access.old_links import check_old_link, old_claim_of, old_signature
from torpor_account.core.access.principals import anonymous
from torpor_account.core.access.signatures import (
    MISMATCH,
    OTHERS,
    S3,
    Payload,
    check_signature,
    check_time,
    hashed_payload,
    s3_payload,
    signing_key,
)
from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.iam.identities.directory import Directory, KnownKey

log = logging.getLogger(__name__)

GLOBAL_SERVICES = ("iam", "sts")
"""Services that have one address for all regions. Clients sign for GLOBAL_REGION there."""
GLOBAL_REGION = "us-east-1"
PAGES_SIGNED_AS = "torpor"
"""What requests to Torpor's own pages are signed for, in any region: a router asks for the region there."""


@dataclass(frozen=True)
class AccessClocks:
    """`signed` is real time, which clients sign with. `epoch` is the endpoint's, by which credentials expire."""

    signed: Callable[[], float]
    epoch: Callable[[], float]


class SignedBody(NamedTuple):
    """What a verified S3 request says of its body, which has not come yet."""

    claim: Claim
    secret: str
    payload: str
    kind: Payload


class Verifier:
    """Finds who calls. Raises NotAuthentic. `tags_of` is that of `CallerAccess`."""

    def __init__(
        self,
        directory: Directory,
        clocks: AccessClocks,
        account: str,
        region: str,
        tags_of: Callable[[str], Mapping[str, str] | None],
    ) -> None:
        self._directory = directory
        self._clocks = clocks
        self._account = account
        self._region = region
        self._tags_of = tags_of

    def caller(self, scope: Scope, body: bytes, signed_as: str) -> CallerAccess | None:
        """Who sent a request to any service but S3; None if nobody signed it. `signed_as` is the service's name."""
        known = self.signer(scope, body, signed_as)
        return None if known is None else self.access(scope, known)

    def signer(self, scope: Scope, body: bytes, signed_as: str) -> KnownKey | None:
        """The key that signed a request to any service but S3; None if nobody signed it."""
        request = signed_request(scope)
        claim = None
        try:
            claim = claim_of(request)
            if claim is None:
                return None
            _check_service(claim, signed_as)
            self._check_region(claim)
            check_time(claim, self._clocks.signed(), OTHERS)
            known = self._known(claim.access_key, claim.token)
            check_signature(claim, request, known.secret, hashed_payload(request, body), OTHERS)
        except BadSignature as bad:
            raise _refused(bad, claim) from None
        return known

    def s3_caller(self, scope: Scope) -> tuple[CallerAccess, SignedBody | None]:
        """Who sent a request to S3, where a request may be unsigned, and what was signed of its body."""
        request = signed_request(scope)
        old = self._old_link(scope, request)
        if old is not None:
            return old, None
        claim = None
        try:
            claim = claim_of(request)
            if claim is None:
                return self.nobody(scope), None
            payload, kind = s3_payload(claim, request)
            _check_service(claim, "s3")
            self._check_region_for_s3(claim)
            check_time(claim, self._clocks.signed(), S3)
            known = self._known(claim.access_key, claim.token)
            check_signature(claim, request, known.secret, payload, S3)
        except BadSignature as bad:
            raise _refused(bad, claim) from None
        return self.access(scope, known), SignedBody(claim, known.secret, payload, kind)

    def _old_link(self, scope: Scope, request: SignedRequest) -> CallerAccess | None:
        """Who signed a link in the old way; None if it is no such link."""
        from torpor_account.s3.bucket_names import host_bucket

        try:
            claim = old_claim_of(request)
            if claim is None:
                return None
            known = self._known(claim.access_key, claim.token)
            bucket = host_bucket(request.by_name.get(b"host", b"").decode("latin-1"))
            check_old_link(claim, request, known.secret, bucket, self._clocks.signed())
        except BadSignature as bad:
            raise not_authentic(bad, link=True) from None
        return self.access(scope, known)

    def form_caller(self, scope: Scope, fields: Mapping[str, str]) -> CallerAccess:
        """Who signed the policy of an HTML form. Its fields are by lower-case name; without a policy it is nobody's.

        https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-authentication-HTTPPOST.html: the policy in base64 is
        what is signed.
        """
        if "policy" not in fields:
            return self.nobody(scope)
        if "awsaccesskeyid" in fields:
            return self._old_form(scope, fields)
        given = {name: fields.get(f"x-amz-{name}", "") for name in ("algorithm", "credential", "date", "signature")}
        header = (
            f"{given['algorithm']} Credential={given['credential']}, SignedHeaders=host, Signature={given['signature']}"
        )
        headers = [(b"authorization", header.encode("latin-1", "replace")), (b"x-amz-date", given["date"].encode())]
        token = fields.get("x-amz-security-token")
        try:
            claim = claim_of(SignedRequest("POST", b"/", b"", headers))
            if claim is None:
                raise unknown_key()
            known = self._known(claim.access_key, token)
        except BadSignature as bad:
            raise _refused(bad, None) from None
        key = signing_key(known.secret, claim.date, claim.region, claim.service)
        expected = hmac.digest(key, fields["policy"].encode(), "sha256").hex()
        if claim.service != "s3" or not hmac.compare_digest(expected, claim.signature):
            raise NotAuthentic(Problem.MISMATCH, MISMATCH)
        self._check_region_for_s3(claim)
        return self.access(scope, known)

    def _old_form(self, scope: Scope, fields: Mapping[str, str]) -> CallerAccess:
        known = self._known(fields["awsaccesskeyid"], fields.get("x-amz-security-token"))
        expected = old_signature(known.secret, fields["policy"].encode())
        if not hmac.compare_digest(expected, fields.get("signature", "").encode()):
            raise NotAuthentic(Problem.MISMATCH, MISMATCH)
        return self.access(scope, known)

    def password_caller(self, scope: Scope) -> CallerAccess | None:
        """Who sends an access key and its secret by HTTP's Basic authentication; None if nobody does."""
        given = [
            value for name, value in scope["headers"] if name == b"authorization" and value[:6].lower() == b"basic "
        ]
        if len(given) != 1:
            return None
        try:
            access_key, _, secret = b64decode(given[0][6:], validate=True).decode().partition(":")
        except (NotBase64, ValueError):
            raise unknown_key() from None
        known = self.of_password(access_key, secret)
        if known is None:
            raise unknown_key()
        return self.access(scope, known)

    def of_password(self, access_key: str, secret: str) -> KnownKey | None:
        """The active key that this secret belongs to. Temporary keys are left out: a password has no token.
        Raises NotAuthentic where the database does not answer."""
        known = self._found(access_key)
        matches = hmac.compare_digest((known.secret if known else "").encode(), secret.encode("utf-8", "replace"))
        return known if known and matches and known.active and known.token_sha256 is None else None

    def nobody(self, scope: Scope) -> CallerAccess:
        """Who signs nothing."""
        principal = anonymous(self._account)
        place = AccessPlace(self._account, self._region)
        return CallerAccess(
            principal, place, principal.keys, RequestKeys(scope, self._region).get, self._clocks.epoch()
        )

    def _found(self, access_key: str) -> KnownKey | None:
        """Raises NotAuthentic where the database does not answer."""
        try:
            return self._directory.find(access_key)
        except RecordsFault as fault:
            if not fault.told:
                log.error("a caller cannot be looked up: %s", fault)
            raise database_away() from fault

    def _known(self, access_key: str, token: str | None) -> KnownKey:
        known = self._found(access_key)
        if known is None or not known.active:
            raise unknown_key()
        if known.token_sha256 is not None or token is not None:
            digest = sha256((token or "").encode("utf-8", "replace")).hexdigest()
            if not hmac.compare_digest(digest, known.token_sha256 or ""):
                raise bad_token()
        clock = self._clocks.signed if known.by_service else self._clocks.epoch
        if known.expires_s is not None and known.expires_s <= clock():
            raise expired_token()
        return known

    def _check_region(self, claim: Claim) -> None:
        elsewhere = claim.service in GLOBAL_SERVICES and claim.region == GLOBAL_REGION
        if claim.region != self._region and not elsewhere and claim.service != PAGES_SIGNED_AS:
            raise BadSignature(Flaw.SCOPE, f"Credential should be scoped to a valid Region, not '{claim.region}'.")

    def _check_region_for_s3(self, claim: Claim) -> None:
        if claim.region != self._region:
            raise wrong_region_for_s3(claim.region, self._region, link=claim.lasts_s is not None)

    def access(self, scope: Scope, known: KnownKey) -> CallerAccess:
        """The caller of a key in the circumstances of a request."""
        keys, directory, name = RequestKeys(scope, self._region), self._directory, known.principal.name
        place = AccessPlace(self._account, self._region, name, directory.path_of, directory.boundary_of)
        return CallerAccess(known.principal, place, known.keys, keys.get, self._clocks.epoch(), self._tags_of)


class RequestKeys:
    """The condition keys of a request that come from its circumstances. They are read when a policy asks for them."""

    __slots__ = ("_region", "_scope")

    def __init__(self, scope: Scope, region: str) -> None:
        self._scope = scope
        self._region = region

    def get(self, key: str) -> Sequence[str] | None:
        match key:
            case "aws:sourceip":
                client = self._scope.get("client")
                return None if not client else (str(client[0]),)
            case "aws:requestedregion":
                return (self._region,)
            case "aws:securetransport":
                return ("true" if self._scope.get("scheme") == "https" else "false",)
            case "aws:useragent":
                return self._header(b"user-agent")
            case "aws:referer":
                return self._header(b"referer")
        return None

    def _header(self, wanted: bytes) -> Sequence[str] | None:
        found = [value.decode("latin-1") for name, value in self._scope["headers"] if name == wanted]
        return found[:1] or None


def signed_request(scope: Scope) -> SignedRequest:
    path = scope.get("raw_path") or scope["path"].encode()
    headers = scope["headers"]
    return SignedRequest(scope["method"], path, scope.get("query_string", b""), headers, header_fields(headers))


def _check_service(claim: Claim, expected: str) -> None:
    if claim.service != expected:
        text = f"Credential should be scoped to correct service: '{expected}'."
        raise BadSignature(Flaw.SCOPE, text)


def _refused(bad: BadSignature, claim: Claim | None) -> NotAuthentic:
    is_link = claim is not None and claim.lasts_s is not None
    return not_authentic(bad, link=is_link, given="" if claim is None else claim.signature)
