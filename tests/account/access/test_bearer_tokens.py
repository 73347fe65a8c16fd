"""A bearer token of Amazon SageMaker is a presigned request: it says who made it, until it expires."""

import time
from base64 import b64encode
from collections.abc import Iterator

import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.account.helpers.in_memory_iam import ACCOUNT, database
from tests.account.helpers.signed_requests import KEY, SECRET
from torpor_account.access.bearer_tokens import bearer_caller
from torpor_account.access.problems import NotAuthentic
from torpor_account.access.verifying import AccessClocks, Verifier
from torpor_account.core.access.needs import CallerAccess
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.ids import KeyPair
from torpor_account.storage.tag_store import Tags

HOME = "eu-central-1"


@pytest.fixture
def verifier() -> Iterator[Verifier]:
    with database() as found:
        directory = Directory(Iam(found, Tags(found), time.time), ACCOUNT, KeyPair(KEY, SECRET))
        yield Verifier(directory, AccessClocks(time.time, time.time), ACCOUNT, HOME, lambda arn: {})


def presigned(
    secret: str = SECRET, action: str = "CallWithBearerToken", region: str = HOME, expires_s: int = 60
) -> str:
    request = AWSRequest("POST", "https://sagemaker.amazonaws.com/", params={"Action": action})
    SigV4QueryAuth(Credentials(KEY, secret), "sagemaker", region, expires=expires_s).add_auth(request)
    return str(request.url).removeprefix("https://") + "&Version=1"


def called(verifier: Verifier, authorization: str) -> CallerAccess | None:
    scope = {"method": "GET", "path": "/v1/models", "query_string": b"x=1", "client": ("127.0.0.1", 1)}
    return bearer_caller(verifier, {**scope, "headers": [(b"authorization", authorization.encode())]})


def token(url: str) -> str:
    return "Bearer sagemaker-api-key-" + b64encode(url.encode()).decode()


def test_a_token_says_who_made_it(verifier: Verifier) -> None:
    caller = called(verifier, token(presigned()))
    assert caller is not None
    assert caller.principal.arn == f"arn:aws:iam::{ACCOUNT}:root"
    assert called(verifier, "Basic YTpi") is None


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (presigned(secret="another"), "does not match"),
        (presigned(action="ListModels"), "action is not CallWithBearerToken"),
        (presigned(region="us-west-2"), "valid Region"),
        (presigned(expires_s=43_201), "seconds up to 43200"),
        (presigned().replace("Date=20", "Date=19"), "."),
        (presigned().removesuffix("&Version=1"), "of another version"),
        (presigned().replace("sagemaker.amazonaws.com", "example.com"), "for another address"),
        ("sagemaker.amazonaws.com/?Action=CallWithBearerToken&X-Amz-Expires=60&Version=1", "not signed"),
    ],
)
def test_a_token_that_does_not_hold_is_refused(verifier: Verifier, url: str, why: str) -> None:
    with pytest.raises(NotAuthentic, match=why):
        called(verifier, token(url))


@pytest.mark.parametrize("given", ["Bearer sk-1", "Bearer sagemaker-api-key-%%", "bearer sagemaker-api-key-/w=="])
def test_what_is_no_token_is_refused(verifier: Verifier, given: str) -> None:
    with pytest.raises(NotAuthentic, match="is none of Amazon SageMaker"):
        called(verifier, given)


def test_a_token_expires(verifier: Verifier) -> None:
    late = AccessClocks(lambda: 4_102_444_800.0, time.time)  # in the year 2100
    verifier._clocks = late
    with pytest.raises(NotAuthentic, match="expired"):
        called(verifier, token(presigned()))
