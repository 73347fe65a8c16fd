"""Callers that call too often, over the wire: each protocol has its own error, and boto3 tries again."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.access.test_live_access import Account, Keys, allow
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.helpers.waiting import soon, until

LIMITS = ("control=3", "s3=1", "invocations=1", "pages=100")
CALLS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "ThrottlingException 400": ("sagemaker", lambda client: client.list_models()),
    "Throttling 400": ("iam", lambda client: client.list_users()),
    "SlowDown 503": ("s3", lambda client: client.list_buckets()),
}


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    limits = [f"--rate-limit={limit}" for limit in LIMITS]
    options = ("--auth", "--log-format", "json", "--log-level", "info", *limits)
    with LiveEndpoint(tmp_path_factory.mktemp("live"), *options) as live:
        account = Account(live)
        account.iam = live.client("iam", retries={"total_max_attempts": 8})
        yield account


def refusal(call: Callable[[Any], Any], client: Any, times: int = 20) -> str:
    """The code and the status of the first call of so many that fails for its rate."""
    for _ in range(times):
        try:
            call(client)
        except ClientError as error:
            code, status = error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]
            if code != "ValidationError":
                return f"{code} {status}"
    return "none"


@pytest.mark.parametrize("expected", CALLS)
def test_each_protocol_has_its_own_error(account: Account, expected: str) -> None:
    service, call = CALLS[expected]
    assert refusal(call, account.client(service, user(account, service, "*"))) == expected


def test_an_invocation_has_the_runtimes_error(account: Account) -> None:
    keys = user(account, "runtime", "sagemaker:InvokeEndpoint")
    runtime = account.client("sagemaker-runtime", keys)
    assert refusal(lambda client: client.invoke_endpoint(EndpointName="none", Body=b""), runtime) == (
        "ThrottlingException 400"
    )


def test_boto3_tries_again_until_its_call_is_let_through(account: Account) -> None:
    client = account.client("sagemaker", user(account, "patient", "*"), retries={"total_max_attempts": 10})
    assert until(lambda: client.list_models()["ResponseMetadata"]["RetryAttempts"], within_s=60)


def test_one_users_calls_are_not_anothers_and_the_refusal_is_audited(account: Account) -> None:
    loud, quiet = (account.client("sagemaker", user(account, name, "*")) for name in ("loud", "quiet"))
    assert refusal(lambda client: client.list_models(), loud) == "ThrottlingException 400"
    assert quiet.list_models()["Models"] == []
    audited = re.compile("throttled: .*user/loud .*of the kind control")
    assert soon(lambda: audited.search(account.live.output()))


def user(account: Account, name: str, action: str) -> Keys:
    return account.user(name, allow(action))
