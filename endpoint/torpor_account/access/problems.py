"""The faults of a caller's credentials, as one table: the code and the status in each protocol.

https://docs.aws.amazon.com/IAM/latest/UserGuide/signature-v4-troubleshooting.html and the pages of common errors.
"""

from enum import Enum

from torpor_account.aws.errors import DATABASE_AWAY
from torpor_account.core.access.claims import BadSignature, Flaw

_INCOMPLETE = ("IncompleteSignatureException", 400), ("IncompleteSignature", 400)
_WRONG = ("InvalidSignatureException", 400), ("SignatureDoesNotMatch", 403)
_UNKNOWN = ("UnrecognizedClientException", 400), ("InvalidClientTokenId", 403)
_MISSING = ("MissingAuthenticationTokenException", 403), ("MissingAuthenticationToken", 403)
_EXPIRED = ("ExpiredTokenException", 400), ("ExpiredToken", 403)
_THROTTLED = ("ThrottlingException", 400), ("Throttling", 400)
_DATABASE = ("InternalFailure", 500), ("InternalFailure", 500)
_DENIED = ("AccessDeniedException", 400), ("AccessDenied", 403)


class Problem(Enum):
    """What is wrong: the codes and statuses of JSON and query services, and S3's code."""

    MISSING = ("nobody signed it", _MISSING, "AccessDenied")
    INCOMPLETE = ("the signature is malformed", _INCOMPLETE, "AuthorizationHeaderMalformed")
    ALGORITHM = ("the signature is of another kind", _INCOMPLETE, "InvalidRequest")
    SCOPE = ("the signature is for something else", _WRONG, "AuthorizationHeaderMalformed")
    LINK_SCOPE = ("the link is for something else", _WRONG, "AuthorizationQueryParametersError")
    TIME = ("the signature is too old or too new", _WRONG, "RequestTimeTooSkewed")
    LINK_EXPIRED = ("the link has expired", _WRONG, "AccessDenied")
    UNSIGNED_HEADER = ("a header is not signed", _WRONG, "AccessDenied")
    PAYLOAD = ("the body is another", _WRONG, "XAmzContentSHA256Mismatch")
    MISMATCH = ("the signature is wrong", _WRONG, "SignatureDoesNotMatch")
    UNKNOWN_KEY = ("the access key is unknown", _UNKNOWN, "InvalidAccessKeyId")
    BAD_TOKEN = ("the token is not the key's", _UNKNOWN, "InvalidToken")
    EXPIRED_TOKEN = ("the token has expired", _EXPIRED, "ExpiredToken")
    THROTTLED = ("the caller calls too often", _THROTTLED, "SlowDown")
    DATABASE = ("the callers cannot be looked up", _DATABASE, "InternalError")
    DENIED = ("the caller may not", _DENIED, "AccessDenied")

    def __init__(self, what: str, codes: tuple[tuple[str, int], tuple[str, int]], s3: str) -> None:
        self.what = what
        self.json, self.query = codes
        self.s3 = s3


class NotAuthentic(Exception):
    """A request that is refused at the door. `canonical` and `to_sign` help to find why a signature is wrong.

    `region` is the one that a client of S3 should sign for instead.
    """

    def __init__(
        self,
        problem: Problem,
        message: str,
        canonical: str = "",
        to_sign: str = "",
        given: str = "",
        region: str = "",
    ) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message
        self.canonical = canonical
        self.to_sign = to_sign
        self.given = given
        self.region = region

    @property
    def explained(self) -> str:
        """The message with what should have been signed, as AWS has it."""
        if not self.to_sign:
            return self.message
        canonical = f"The Canonical String for this request should have been\n'{self.canonical}'"
        return f"{self.message}\n\n{canonical}\n\nThe String-to-Sign should have been\n'{self.to_sign}'\n"


_OF_FLAWS = {
    Flaw.INCOMPLETE: Problem.INCOMPLETE,
    Flaw.ALGORITHM: Problem.ALGORITHM,
    Flaw.SCOPE: Problem.SCOPE,
    Flaw.EXPIRED: Problem.TIME,
    Flaw.NOT_YET: Problem.TIME,
    Flaw.UNSIGNED_HEADER: Problem.UNSIGNED_HEADER,
    Flaw.PAYLOAD: Problem.PAYLOAD,
    Flaw.MISMATCH: Problem.MISMATCH,
}


def not_authentic(bad: BadSignature, *, link: bool, given: str = "") -> NotAuthentic:
    """The refusal of a bad signature. `link`: it was a presigned link's, which expires at its own time."""
    problem = Problem.LINK_EXPIRED if link and bad.flaw is Flaw.EXPIRED else _OF_FLAWS[bad.flaw]
    return NotAuthentic(problem, bad.message, bad.canonical.decode("utf-8", "replace"), bad.to_sign, given)


def wrong_region_for_s3(given: str, expected: str, *, link: bool) -> NotAuthentic:
    """In S3's words. Its clients read the region that they should sign for, and try again."""
    text = f"the region '{given}' is wrong; expecting '{expected}'"
    if link:
        problem, text = Problem.LINK_SCOPE, f"Error parsing the X-Amz-Credential parameter; {text}"
    else:
        problem, text = Problem.SCOPE, f"The authorization header is malformed; {text}"
    return NotAuthentic(problem, text, region=expected)


_TOKEN = "The security token included in the request is "


def nobody_signed() -> NotAuthentic:
    return NotAuthentic(Problem.MISSING, "Missing Authentication Token")


def unknown_key() -> NotAuthentic:
    return NotAuthentic(Problem.UNKNOWN_KEY, f"{_TOKEN}invalid.")


def bad_token() -> NotAuthentic:
    return NotAuthentic(Problem.BAD_TOKEN, f"{_TOKEN}invalid.")


def expired_token() -> NotAuthentic:
    return NotAuthentic(Problem.EXPIRED_TOKEN, f"{_TOKEN}expired")


def database_away() -> NotAuthentic:
    return NotAuthentic(Problem.DATABASE, DATABASE_AWAY)


def throttled() -> NotAuthentic:
    return NotAuthentic(Problem.THROTTLED, "Rate exceeded")
