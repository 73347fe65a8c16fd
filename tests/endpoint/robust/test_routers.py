"""A control and two routers, as processes: callers lose nothing while one is killed, and the ledger has it all."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint, Variant, many
from tests.endpoint.helpers.live_router import LiveRouter
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.waiting import soon

MODELS = {f"{number}.tar": float(number) for number in range(1, 7)}
SERVERLESS = {"ServerlessConfig": {"MemorySizeInMB": 2048, "MaxConcurrency": 20}}
ODD = json.dumps(
    {"models": {"1.tar": {}, "3.tar": {"latency_ms": {"1": 1}, "load_ms": {"s3": 1, "asleep": 9}}}}
).encode()
CALLERS = 4
ONCE = Config(retries={"total_max_attempts": 1}, read_timeout=60)


class Callers:
    """Threads that call one model after another, each by the router that answered it last, and keep what comes."""

    def __init__(self, endpoint: str, urls: list[str]) -> None:
        self.answers: list[tuple[str, str]] = []
        self.moved = 0
        self._endpoint, self._urls = endpoint, urls
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._call, args=(place,)) for place in range(CALLERS)]

    def __enter__(self) -> "Callers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def until(self, answers: int) -> None:
        """Wait until so many more answers have come."""
        wanted = len(self.answers) + answers
        assert soon(lambda: len(self.answers) >= wanted, within_s=90)

    def _call(self, place: int) -> None:
        clients = [
            boto3.client("sagemaker-runtime", REGION, endpoint_url=url, config=ONCE, **KEYS) for url in self._urls
        ]
        models = list(MODELS)
        while not self._stopped.is_set():
            model = models[len(self.answers) % len(models)]
            try:
                said = clients[place % len(clients)].invoke_endpoint(
                    EndpointName=self._endpoint, TargetModel=model, ContentType="text/csv", Body="1"
                )
                self.answers.append((model, str(number(said))))
            except (ConnectionError, HTTPClientError):
                self.moved += 1
                place += 1
            except ClientError as error:
                self.answers.append((model, str(error)))


def number(said: Any) -> float:
    return float(said["Body"].read().decode().strip("[]"))


KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "y"}


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("control")) as live:
        put(live.folder("shop"), {f"models/{name}": constant(number) for name, number in MODELS.items()})
        live.deploy("Fixed", Variant(many("shop/models/")))
        put(live.folder("shop"), {"models/odd.group.json": ODD})
        live.deploy("Sleeper", Variant(many("shop/models/", {"TORPOR_GROUPS": "true"}), members=SERVERLESS))
        yield live


@pytest.fixture
def routers(control: LiveEndpoint, tmp_path: Path) -> Iterator[list[LiveRouter]]:
    with ExitStack() as running:
        started = []
        for place in range(2):
            started.append(LiveRouter(control.url, tmp_path / f"router-{place}.log"))
            running.callback(started[-1].stop)
        yield started


def served(live: LiveEndpoint, endpoint: str) -> int:
    """The requests of an endpoint in the ledger."""
    with urlopen(f"{live.url}/_torpor/costs?endpoint={endpoint}", timeout=60) as answer:
        return sum(one["requests"] for one in json.load(answer)["variants"])


@pytest.mark.thorough
def test_callers_of_two_routers_lose_nothing_when_one_is_killed_or_the_control_is(
    control: LiveEndpoint, routers: list[LiveRouter]
) -> None:
    before = served(control, "Fixed")
    with Callers("Fixed", [one.url for one in routers]) as callers:
        callers.until(40)
        reported = len(callers.answers)
        assert soon(lambda: served(control, "Fixed") - before >= reported, within_s=60)
        unreported = len(callers.answers) - reported  # at most: what the router that is killed now had not sent
        routers[0].kill()
        callers.until(40)
        assert callers.moved > 0
        control.kill()
        control.start()
        callers.until(40)
    broken = [said for _, said in callers.answers if "could not get a response" in said]
    assert len(broken) <= CALLERS  # each was in an instance, and those of this machine end with the control
    assert [one for one in callers.answers if one[1] not in (str(MODELS[one[0]]), *broken)] == []
    least = len(callers.answers) - unreported - CALLERS
    assert soon(lambda: served(control, "Fixed") - before >= least, within_s=60)
    assert served(control, "Fixed") - before <= len(callers.answers) + CALLERS  # a row that came twice counts once
    assert routers[1].state()["rows_lost"] == 0


def test_a_call_of_a_group_to_a_router_wakes_a_variant_and_the_control_lets_it_sleep(
    control: LiveEndpoint, routers: list[LiveRouter]
) -> None:
    runtime = boto3.client("sagemaker-runtime", REGION, endpoint_url=routers[0].url, config=ONCE, **KEYS)
    said = runtime.invoke_endpoint(EndpointName="Sleeper", TargetModel="odd", ContentType="text/csv", Body="1")
    assert number(said) == 3.0
    assert "group=odd; model=3.tar" in said["ResponseMetadata"]["HTTPHeaders"]["x-torpor-choice"]
    assert soon(lambda: served(control, "Sleeper") == 1, within_s=60)
    (choice,) = json.loads(control.page("choices?endpoint=Sleeper&model=odd"))["choices"]
    assert (choice["need"], choice["model"], choice["requests"]) == ("any model", "3.tar", 1)
    control.sagemaker.delete_endpoint(EndpointName="Sleeper")
    assert soon(lambda: "Sleeper" not in routers[0].state()["endpoints"], within_s=60)
    with pytest.raises(ClientError, match="not found"):
        runtime.invoke_endpoint(EndpointName="Sleeper", TargetModel="3.tar", ContentType="text/csv", Body="1")


def test_a_router_says_where_everything_else_is(control: LiveEndpoint, routers: list[LiveRouter]) -> None:
    there = boto3.client("sagemaker", REGION, endpoint_url=routers[0].url, config=ONCE, **KEYS)
    with pytest.raises(ClientError, match=f"Call ListModels of sagemaker at the control: {control.url}"):
        there.list_models()
    objects = boto3.client("s3", REGION, endpoint_url=routers[0].url, config=ONCE, **KEYS)
    with pytest.raises(ClientError, match=f"Call S3 at the control: {control.url}"):
        objects.list_buckets()


def test_a_router_verifies_callers_as_the_control_does(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path / "data", "--auth", "--no-runtime") as live, ExitStack() as running:
        put(live.folder("shop"), {f"models/{name}": constant(number) for name, number in MODELS.items()})
        live.deploy("Fixed", Variant(many("shop/models/")))
        root = dict(zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), live.keys, strict=True))
        router = LiveRouter(live.url, tmp_path / "router.log", root)
        running.callback(router.stop)
        iam = live.client("iam")
        iam.create_user(UserName="tenant")
        condition = {"StringLike": {"sagemaker:TargetModel": "1.tar"}}
        statement = {"Effect": "Allow", "Action": "sagemaker:InvokeEndpoint", "Resource": "*", "Condition": condition}
        iam.put_user_policy(UserName="tenant", PolicyName="one", PolicyDocument=json.dumps(policy(statement)))
        key = iam.create_access_key(UserName="tenant")["AccessKey"]  # a moment ago: the router has to ask for it

        def invoke(model: str, **keys: str) -> float:
            runtime = boto3.client("sagemaker-runtime", REGION, endpoint_url=router.url, config=ONCE, **keys)
            said = runtime.invoke_endpoint(EndpointName="Fixed", TargetModel=model, ContentType="text/csv", Body="1")
            return number(said)

        own = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
        assert invoke("1.tar", **own) == 1.0
        with pytest.raises(ClientError, match="answers no invocations: send them to one of its routers"):
            live.invoke("Fixed", b"1", TargetModel="1.tar")
        with pytest.raises(ClientError, match="because no identity-based policy allows the sagemaker:InvokeEndpoint"):
            invoke("2.tar", **own)
        with pytest.raises(ClientError, match="security token included in the request is invalid"):
            invoke("1.tar", **KEYS)
        with pytest.raises(ClientError, match="signature"):
            invoke("1.tar", **{**own, "aws_secret_access_key": "wrong"})
        iam.delete_access_key(UserName="tenant", AccessKeyId=key["AccessKeyId"])
        assert soon(lambda: refused(lambda: invoke("1.tar", **own)), within_s=60)


def policy(*statements: Mapping[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except ClientError:
        return True
    return False
