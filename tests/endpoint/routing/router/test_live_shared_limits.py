"""`--rate-limit` with two routers, as processes: a caller's calls count over both of them together."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from urllib3 import BaseHTTPResponse, request

from tests.endpoint.access.test_live_access import Account, Keys, allow
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint
from tests.endpoint.helpers.live_router import LiveRouter
from tests.helpers.waiting import soon, until

PER_SECOND = 2.0
"""Few: a busy machine too must be able to call more often."""
FOR_S = 4.0
ONCE = Config(retries={"total_max_attempts": 1})


class Routed:
    """An account, and the routers of its endpoint."""

    def __init__(self, live: LiveEndpoint, routers: list[LiveRouter]) -> None:
        self.live = live
        self.account = Account(live)
        self.routers = routers

    def page(self, url: str, keys: Keys | None = None) -> BaseHTTPResponse:
        """The answer of a page to these keys, or to the root."""
        asked = AWSRequest("GET", url)
        SigV4Auth(Credentials(*(keys or self.live.keys)), "torpor", REGION).add_auth(asked)
        return request("GET", url, headers=dict(asked.headers.items()), retries=False)

    def ports(self, router: LiveRouter) -> int:
        """How many ports share the limit, as the router knows it."""
        return int(self.page(f"{router.url}/_torpor/router").json()["ports"])

    def share_with(self, ports: int) -> None:
        """Wait until the routers know that. Their pages have a limit too."""
        wanted = [ports] * len(self.routers)
        assert soon(lambda: [self.ports(one) for one in self.routers] == wanted, within_s=60, look_s=0.5)

    def user(self, name: str) -> Keys:
        return self.account.user(name, allow("sagemaker:InvokeEndpoint"))

    def passed(self, keys: Keys, urls: list[str]) -> tuple[int, int, float]:
        """How many of this user's calls were let through and how many throttled, and in how many seconds: calls for
        FOR_S, at each of these addresses in turn."""
        clients = [
            boto3.Session(*keys, region_name=REGION).client(RUNTIME, endpoint_url=url, config=ONCE) for url in urls
        ]
        passed, throttled, began_s = 0, 0, time.monotonic()
        for client in cycle(clients):
            came = answer(client)
            passed += came == "ValidationError 400"
            throttled += came == "ThrottlingException 400"
            took_s = time.monotonic() - began_s
            if took_s > FOR_S:
                return passed, throttled, took_s
        raise AssertionError("no addresses")


RUNTIME = "sagemaker-runtime"


def answer(client: Any) -> str:
    """The code and the status of a call to an endpoint that is not there."""
    with pytest.raises(ClientError) as refused:
        client.invoke_endpoint(EndpointName="none", Body=b"")
    response = refused.value.response
    return f"{response['Error']['Code']} {response['ResponseMetadata']['HTTPStatusCode']}"


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routed]:
    folder = tmp_path_factory.mktemp("routed")
    limits = (f"--rate-limit=invocations={PER_SECOND}", "--rate-limit=pages=5")
    with LiveEndpoint(folder / "data", "--auth", *limits) as live, ExitStack() as running:
        root = dict(zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), live.keys, strict=True))
        routers = []
        for number in range(2):
            routers.append(LiveRouter(live.url, folder / f"router-{number}.log", root))
            running.callback(routers[-1].stop)
        found = Routed(live, routers)
        found.share_with(2)
        yield found


def test_a_caller_of_two_routers_is_throttled_at_the_limit_overall(routed: Routed) -> None:
    passed, throttled, took_s = routed.passed(routed.user("both"), [one.url for one in routed.routers])
    assert throttled > 0
    assert passed <= PER_SECOND + PER_SECOND * took_s + 1e-6
    assert passed > (PER_SECOND + PER_SECOND * FOR_S) / 2 + 1  # more than one router lets through


@pytest.mark.thorough
def test_a_caller_of_one_of_two_routers_gets_half(routed: Routed) -> None:
    passed, throttled, took_s = routed.passed(routed.user("one"), [routed.routers[0].url])
    assert throttled > 0
    assert passed <= (PER_SECOND + PER_SECOND * took_s) / 2 + 1e-6


def test_the_controls_own_port_has_a_share_while_it_is_called(routed: Routed, tmp_path: Path) -> None:
    keys = routed.user("three")
    own = boto3.Session(*keys, region_name=REGION).client(RUNTIME, endpoint_url=routed.live.url, config=ONCE)
    assert answer(own) == "ValidationError 400"
    routed.share_with(3)
    urls = [routed.live.url, *(one.url for one in routed.routers)]
    passed, throttled, took_s = routed.passed(keys, urls)
    assert throttled > 0
    assert passed <= PER_SECOND + PER_SECOND * took_s + 1e-6


def test_a_routers_pages_have_a_limit_and_its_own_calls_of_the_control_none(routed: Routed) -> None:
    hello = f"{routed.live.url}/_torpor/routers/hello"
    statuses = [routed.page(hello).status for _ in range(20)]
    assert statuses == [200] * 20
    stranger = routed.user("stranger")
    assert until(lambda: routed.page(hello, stranger).status == 429)  # who may not route is counted
    own = f"{routed.routers[0].url}/_torpor/router"
    refused = until(lambda: found if (found := routed.page(own)).status == 429 else None)
    assert refused is not None
    assert refused.headers["retry-after"] == "1"
