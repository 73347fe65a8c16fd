"""A verified request is for the endpoint's own region, and its policies are asked for that region alone.

A caller who cannot be looked up is refused.
"""

import hmac
import time
from collections.abc import Iterator

import pytest

from tests.account.helpers.in_memory_iam import ACCOUNT, database
from tests.account.helpers.signed_requests import KEY, SECRET, signed
from torpor_account.access.problems import NotAuthentic, Problem
from torpor_account.access.verifying import AccessClocks, Verifier
from torpor_account.aws.wire.asgi import Scope, Tell
from torpor_account.core.access.claims import SignedRequest
from torpor_account.core.access.needs import AccessNeed, CallerAccess
from torpor_account.core.access.signatures import signing_key
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.ids import KeyPair
from torpor_account.storage.databases.database import DatabaseFault
from torpor_account.storage.tag_store import Tags
from torpor_endpoint.access.invocations import InvocationDoor

HOME, AWAY = "eu-central-1", "eu-west-1"
INVOCATIONS = "/endpoints/e/invocations"
S3_TEXT = f"The authorization header is malformed; the region '{AWAY}' is wrong; expecting '{HOME}'"
LINK_TEXT = f"Error parsing the X-Amz-Credential parameter; the region '{AWAY}' is wrong; expecting '{HOME}'"


@pytest.fixture
def verifier() -> Iterator[Verifier]:
    with database() as found:
        directory = Directory(Iam(found, Tags(found), time.time), ACCOUNT, KeyPair(KEY, SECRET))
        yield Verifier(directory, AccessClocks(time.time, time.time), ACCOUNT, HOME, lambda arn: {})


def scope_of(request: SignedRequest) -> Scope:
    path, query = request.path, request.query
    headers = list(request.headers)
    return {
        "method": request.method,
        "path": path.decode(),
        "raw_path": path,
        "query_string": query,
        "headers": headers,
    }


def caller(verifier: Verifier, service: str, region: str, target: str = "/") -> CallerAccess | None:
    return verifier.caller(scope_of(signed(service, target=target, region=region)), b"", service)


def regions(access: CallerAccess | None) -> tuple[str, list[str]]:
    assert access is not None
    (question,) = access.questions(AccessNeed(("a:B",), "*"))
    return access.place.region, list(question.lookup("aws:requestedregion") or ())


@pytest.mark.parametrize("service", ["sagemaker", "logs", "monitoring", "sqs", "sns", "ecr", "secretsmanager"])
def test_a_request_for_another_region_is_refused(verifier: Verifier, service: str) -> None:
    assert regions(caller(verifier, service, HOME)) == (HOME, [HOME])
    with pytest.raises(NotAuthentic, match=f"Credential should be scoped to a valid Region, not '{AWAY}'") as refused:
        caller(verifier, service, AWAY)
    assert refused.value.problem.json == ("InvalidSignatureException", 400)
    assert refused.value.problem.query == ("SignatureDoesNotMatch", 403)


@pytest.mark.parametrize("service", ["iam", "sts"])
def test_global_services_take_their_one_region_too_and_policies_see_the_endpoints(
    verifier: Verifier, service: str
) -> None:
    for region in (HOME, "us-east-1"):
        assert regions(caller(verifier, service, region)) == (HOME, [HOME])
    with pytest.raises(NotAuthentic, match="valid Region"):
        caller(verifier, service, AWAY)


def test_pages_of_torpors_own_take_any_region_and_policies_see_the_endpoints(verifier: Verifier) -> None:
    assert regions(caller(verifier, "torpor", AWAY, "/_torpor/endpoints")) == (HOME, [HOME])


def test_an_invocation_for_another_region_is_not_taken_inline(verifier: Verifier) -> None:
    taken: list[str] = []

    def take_inline(scope: Scope, body: bytes, tell: Tell) -> bool:
        taken.append(scope["path"])
        return True

    door = InvocationDoor(verifier, lambda scope: take_inline)
    home, away = (scope_of(signed("sagemaker", target=INVOCATIONS, region=region)) for region in (HOME, AWAY))
    for scope, is_taken in ((away, False), (home, True)):
        take = door.inline(scope)
        assert take is not None
        assert take(scope, b"", lambda *_: None) is is_taken
    assert taken == [INVOCATIONS]


@pytest.mark.parametrize(
    ("link", "code", "text"),
    [(False, "AuthorizationHeaderMalformed", S3_TEXT), (True, "AuthorizationQueryParametersError", LINK_TEXT)],
)
def test_s3_names_the_region_to_sign_for(verifier: Verifier, link: bool, code: str, text: str) -> None:
    access, _ = verifier.s3_caller(scope_of(signed("s3", "GET", "/b/k", link=link, region=HOME)))
    assert regions(access) == (HOME, [HOME])
    with pytest.raises(NotAuthentic) as refused:
        verifier.s3_caller(scope_of(signed("s3", "GET", "/b/k", link=link, region=AWAY)))
    assert (refused.value.problem.s3, refused.value.message, refused.value.region) == (code, text, HOME)


def test_a_form_for_another_region_is_refused(verifier: Verifier) -> None:
    def fields(region: str) -> dict[str, str]:
        key = signing_key(SECRET, "20260101", region, "s3")
        return {
            "policy": "e30=",
            "x-amz-algorithm": "AWS4-HMAC-SHA256",
            "x-amz-credential": f"{KEY}/20260101/{region}/s3/aws4_request",
            "x-amz-date": "20260101T000000Z",
            "x-amz-signature": hmac.digest(key, b"e30=", "sha256").hex(),
        }

    scope = scope_of(SignedRequest("POST", b"/b", b"", []))
    assert regions(verifier.form_caller(scope, fields(HOME))) == (HOME, [HOME])
    with pytest.raises(NotAuthentic, match=f"expecting '{HOME}'"):
        verifier.form_caller(scope, fields(AWAY))


class Away:
    """A directory whose database does not answer."""

    def find(self, access_key: str) -> None:
        raise DatabaseFault("torpor: the database does not answer")


def test_a_database_that_is_away_refuses_the_caller_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    clocks = AccessClocks(lambda: 0.0, lambda: 0.0)
    verifier = Verifier(Away(), clocks, "123456789012", "us-east-1", lambda _: {})  # type: ignore[arg-type]
    with pytest.raises(NotAuthentic) as refused:
        verifier.of_password("key", "secret")
    assert refused.value.problem is Problem.DATABASE
    assert caplog.messages == ["a caller cannot be looked up: torpor: the database does not answer"]
