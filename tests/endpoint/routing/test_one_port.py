"""A control and two routers at one port: the same answer whichever process takes a request."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.endpoint.account.helpers.every_operation import CLAIMED, CLAIMS, walked
from tests.endpoint.account.helpers.strictness import complaints
from tests.endpoint.helpers import chat_container
from tests.endpoint.helpers.bearer_tokens import token
from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import packed, put
from tests.endpoint.helpers.shared_ports import all_accept, connections, held
from tests.helpers.thorough_values import one_in
from tests.helpers.waiting import soon

JSON = {"content-type": "application/x-amz-json-1.1"}
VOLATILE = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9A-F]{16,}|[0-9A-Za-z+/]{40,}=*|\d{4}-\d\d-\d\d[T ][\d:.]+Z?|[\d.e-]{5,}"
)
"""Ids, dates and figures: each answer has its own."""
APART = {
    "date",
    "x-amzn-requestid",
    "x-amz-request-id",
    "x-amz-id-2",
    "server-timing",
    "content-length",
    "x-amzn-trace-id",
}
"""Headers that differ in each answer of one process too; the length follows the ids."""


class Asked(NamedTuple):
    """A request, of the tenant if it is `signed` for a service. `wrong`: by another secret."""

    method: str
    path: str
    headers: Mapping[str, str] = {}
    body: bytes = b""
    signed: str = ""
    wrong: bool = False


def call(operation: str, **members: Any) -> Asked:
    headers = {**JSON, "x-amz-target": f"SageMaker.{operation}"}
    return Asked("POST", "/", headers, json.dumps(members).encode(), "sagemaker")


def query(service: str, text: str) -> Asked:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return Asked("POST", "/", headers, text.encode(), service)


def invoke(path: str = "/endpoints/Fixed/invocations", model: str = "1.tar", **more: Any) -> Asked:
    headers = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": model, **more.pop("headers", {})}
    return Asked("POST", path, headers, more.pop("body", b"1"), more.pop("signed", "sagemaker"), **more)


REQUESTS = {
    "a call of the control's": call("ListModels"),
    "one that finds nothing": call("DescribeModel", ModelName="none"),
    "one of no such operation": call("ListNothing"),
    "one that breaks a rule": call("CreateModel", ModelName="-"),
    "one that policies deny": call("DeleteEndpoint", EndpointName="Fixed"),
    "one that nobody signed": call("ListModels")._replace(signed=""),
    "one with another secret": call("ListModels")._replace(wrong=True),
    "one of STS": query("sts", "Action=GetCallerIdentity&Version=2011-06-15"),
    "one of IAM": query("iam", "Action=GetUser&UserName=tenant&Version=2010-05-08"),
    "one of moto's": Asked("POST", "/", {**JSON, "x-amz-target": "AWSEvents.ListRules"}, b"{}", "events"),
    "one of no service": Asked("POST", "/", {**JSON, "x-amz-target": "Nothing.DoIt"}, b"{}", "nothing"),
    "buckets": Asked("GET", "/", signed="s3"),
    "an object": Asked("GET", "/shop/models/1.tar", signed="s3"),
    "the head of an object": Asked("HEAD", "/shop/models/1.tar", signed="s3"),
    "a part of an object": Asked("GET", "/shop/models/1.tar", {"range": "bytes=5-9"}, signed="s3"),
    "no object": Asked("GET", "/shop/models/none", signed="s3"),
    "an object of a stranger": Asked("GET", "/shop/models/1.tar"),
    "a new object": Asked("PUT", "/shop/new", {}, b"x" * 70_000, "s3"),
    "health": Asked("GET", "/_torpor/health"),
    "metrics": Asked("GET", "/_torpor/metrics", signed="torpor"),
    "metrics of a stranger": Asked("GET", "/_torpor/metrics"),
    "the dashboard": Asked("GET", "/_torpor/"),
    "the page of logins": Asked("GET", "/_torpor/login"),
    "the page of a router of its own": Asked("GET", "/_torpor/router", signed="torpor"),
    "no page": Asked("GET", "/_torpor/none", signed="torpor"),
    "a prediction": invoke(),
    "a prediction in pieces": invoke(headers={"transfer-encoding": "chunked"}),
    "a stream": invoke("/endpoints/Fixed/invocations-response-stream"),
    "an asynchronous prediction": invoke(
        "/endpoints/Fixed/async-invocations", body=b"", headers={"x-amzn-sagemaker-inputlocation": "s3://shop/new"}
    ),
    "a model that policies deny": invoke(model="2.tar"),
    "no model": invoke(model="1.tar/none"),
    "no endpoint": invoke("/endpoints/None/invocations"),
    "too much to predict": invoke(body=b"1" * (6 << 20 | 1)),
    "a prediction that nobody signed": invoke(signed=""),
    "a prediction with another secret": invoke(wrong=True),
    "two models": invoke(headers={"X-Amzn-SageMaker-Target-Model": "2.tar"}),
    "a prediction of a web page": invoke(headers={"origin": "https://elsewhere.example"}),
    "a prediction of the dashboard": invoke(headers={"sec-fetch-site": "same-origin"}, signed=""),
    "a call of a web page": Asked("GET", "/_torpor/metrics", {"origin": "https://elsewhere.example"}),
    "a page under another name": Asked("GET", "/_torpor/health", {"host": "elsewhere.example"}),
    "a preflight": Asked(
        "OPTIONS", "/shop/new", {"origin": "https://elsewhere.example", "access-control-request-method": "GET"}
    ),
    "no HTTP": Asked("GET", "/ /", {}),
}
"""What is asked of each process, in this order."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    folder = tmp_path_factory.mktemp("shared")
    images = folder / "images.toml"
    command = [sys.executable, chat_container.__file__, "{port}"]
    images.write_text(f'[[image]]\nmatch = "chat*"\ncommand = {command!r}\n')
    with LiveEndpoint(folder, "--auth", "--routers=2", "--images", str(images)) as live:
        put(live.folder("shop"), {f"models/{number}.tar": constant(float(number)) for number in (1, 2)})
        live.deploy("Fixed", Variant(many("shop/models/")))
        assert all_accept(live)
        yield live


@pytest.fixture(scope="module")
def tenant(live: LiveEndpoint) -> Credentials:
    iam = live.client("iam")
    iam.create_user(UserName="tenant")
    allowed = ["sagemaker:List*", "sagemaker:Describe*", "sagemaker:CreateModel", "s3:*", "iam:GetUser", "torpor:Read*"]
    model = {"StringLike": {"sagemaker:TargetModel": "1.*"}}
    statements = [
        {"Effect": "Allow", "Action": allowed, "Resource": "*"},
        {"Effect": "Allow", "Action": "sagemaker:Invoke*", "Resource": "*", "Condition": model},
    ]
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_user_policy(UserName="tenant", PolicyName="some", PolicyDocument=policy)
    key = iam.create_access_key(UserName="tenant")["AccessKey"]
    return Credentials(key["AccessKeyId"], key["SecretAccessKey"])


@pytest.mark.parametrize("kind", one_in(4, REQUESTS))
def test_a_request_gets_the_same_answer_of_each_process(live: LiveEndpoint, tenant: Credentials, kind: str) -> None:
    control, router = (answered(live, tenant, REQUESTS[kind], place) for place in (0, 1))
    assert router == control


def answered(live: LiveEndpoint, tenant: Credentials, asked: Asked, place: int) -> tuple[int, dict[str, str], bytes]:
    """The answer on a connection that the process at this place has accepted, without what differs in each answer."""
    with held(live, place, 1) as (connection,):
        connection.sendall(request(live, tenant, asked))
        with HTTPResponse(connection, method=asked.method) as response:
            response.begin()
            body = response.read()
        headers = {name.lower(): value for name, value in response.getheaders() if name.lower() not in APART}
    return response.status, headers, VOLATILE.sub(b"#", body)


def request(live: LiveEndpoint, tenant: Credentials, asked: Asked) -> bytes:
    host = asked.headers.get("host", live.url.removeprefix("http://"))
    one = AWSRequest(asked.method, f"http://{host}{asked.path}", dict(asked.headers), asked.body)
    if asked.signed:
        keys = Credentials(tenant.access_key, "another") if asked.wrong else tenant
        (S3SigV4Auth if asked.signed == "s3" else SigV4Auth)(keys, asked.signed, REGION).add_auth(one)
    headers, body = {"host": host, **dict(one.headers.items())}, asked.body
    if "transfer-encoding" in asked.headers:
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    else:
        headers["content-length"] = str(len(body))
    lines = [f"{asked.method} {asked.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def test_a_connection_may_carry_calls_of_every_kind(live: LiveEndpoint, tenant: Credentials) -> None:
    kinds = ("a prediction", "a call of the control's", "a prediction", "an object", "a prediction", "metrics")
    with held(live, 1) as (connection,):
        statuses = []
        for kind in kinds:
            connection.sendall(request(live, tenant, REQUESTS[kind]))
            with HTTPResponse(connection, method="POST") as response:
                response.begin()
                response.read()
                statuses.append(response.status)
    assert statuses == [200] * len(kinds)


def test_language_models_answer_and_stream_at_each_process(live: LiveEndpoint, tmp_path: Path) -> None:
    put(live.folder("chat"), {f"models/{name}.tar.gz": packed({"word": name}) for name in ("owl", "fox")})
    live.deploy("Chat", Variant(many("chat/models", Image="chat:1")))
    with ExitStack() as open_ones:
        streams = {}
        for place, model in ((0, "owl"), (1, "fox"), (2, "owl")):
            connection = open_ones.enter_context(held(live, place))[0]
            for asked in ({"content": "hi"}, {"content": f"wait {tmp_path / str(place)}", "stream": True}):
                connection.sendall(chat(live, model, **asked))
                response = open_ones.enter_context(HTTPResponse(connection, method="POST"))
                response.begin()
                if "stream" not in asked:
                    assert json.loads(response.read())["choices"][0]["message"]["content"] == f"{model}: hi"
            assert response.headers["content-type"] == "text/event-stream"
            assert f'"{model}"'.encode() in response.readline()
            streams[place] = response
        for place in (1, 2, 0):  # each waits for a file of its own
            (tmp_path / str(place)).touch()
            assert streams[place].read().endswith(b"data: [DONE]\n\n")


def chat(live: LiveEndpoint, model: str, content: str, **more: Any) -> bytes:
    """A request of OpenAI's API, by the root."""
    document = {"model": model, "messages": [{"role": "user", "content": content}], **more}
    bearer = {"authorization": f"Bearer {token(*live.keys)}", "x-torpor-endpoint": "Chat"}
    asked = Asked("POST", "/openai/v1/chat/completions", bearer, json.dumps(document).encode())
    return request(live, Credentials("", ""), asked)


def test_a_denial_is_explained_whichever_process_has_denied(live: LiveEndpoint, tenant: Credentials) -> None:
    for place in (0, 1):
        with held(live, place) as (connection,):
            connection.sendall(request(live, tenant, REQUESTS["a model that policies deny"]))
            with HTTPResponse(connection, method="POST") as response:
                response.begin()
                number = response.headers["x-amzn-requestid"]
                response.read()
        assert soon(partial(denials, live, number), within_s=60)
        (denied,) = denials(live, number)
        assert (denied["action"], denied["caller"].rpartition("/")[2]) == ("sagemaker:InvokeEndpoint", "tenant")


def denials(live: LiveEndpoint, request_id: str) -> list[dict[str, Any]]:
    """What the page of denials has of a request."""
    found: list[dict[str, Any]] = as_root(live, f"denials?id={request_id}")["denials"]
    return found


def as_root(live: LiveEndpoint, page: str) -> Any:
    said = AWSRequest("GET", f"{live.url}/_torpor/{page}")
    SigV4Auth(Credentials(*live.keys), "torpor", REGION).add_auth(said)
    with urlopen(Request(said.url, headers=dict(said.headers.items())), timeout=60) as answer:
        return json.load(answer)


@pytest.mark.thorough
def test_every_operation_is_answered_whole_when_routers_take_the_connections(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path / "data", "--routers=2") as live:
        assert all_accept(live)
        with held(live, 0, 30), walked(live) as walks:
            counts = [count or 0 for count in connections(live)]
            assert counts[0] > max(counts[1:])  # so routers have accepted all that came
            errors = [f"{name}: {walk.errors[name]}" for walk in walks.values() for name in walk.errors]
            wrong = [
                complaint
                for service, operation in CLAIMED
                for complaint in complaints(walks[service].answers[operation], CLAIMS[service].kept)
            ]
    assert (errors, wrong) == ([], [])
