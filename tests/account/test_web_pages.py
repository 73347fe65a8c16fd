"""A request of a web page is refused before it reaches a service, in the form of that service."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.account.helpers.browser_requests import Reply, call
from torpor_account.aws.wire.asgi import App, Response, Scope, sent
from torpor_account.core.origins.cross_origin import own_hosts
from torpor_account.gateway import Gateway
from torpor_account.web_pages import JUDGED_MAX, WebPages
from torpor_endpoint.services.service_register import ADDRESSES

LOCAL = {"host": "127.0.0.1:4700"}
EVIL = {**LOCAL, "origin": "http://evil.test"}
FRIEND = {**LOCAL, "origin": "http://friend.test", "sec-fetch-site": "cross-site"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "SageMaker.DeleteModel"}
INVOCATIONS = "/endpoints/houses/invocations"
WAYS = [
    ("/_torpor/endpoints", {}, "text/plain"),
    ("/bucket", {"content-type": "multipart/form-data; boundary=b"}, "application/xml"),
    ("/", JSON, "application/x-amz-json-1.1"),
    ("/", FORM, "text/xml"),
    (INVOCATIONS, FORM, "application/json"),
    ("http://evil.test/bucket/key", {}, "application/xml"),
]


async def service(scope: Scope, receive: Any, send: Any) -> None:
    await sent(Response(200, scope["path"].encode()), send)


def pages(excepted: Mapping[str, App] = {}) -> WebPages:
    names = ("s3", "sagemaker", "sagemaker-runtime", "sns")
    inline = {"sagemaker-runtime": lambda scope: lambda scope, body, tell: True}
    gateway = Gateway(dict.fromkeys(names, service), service, "123456789012", ADDRESSES, inline=inline)
    return WebPages(gateway, own_hosts(["127.0.0.1"], origins=["http://friend.test"]), excepted)


def refused(reply: Reply, content_type: str) -> str:
    assert (reply.status, reply.headers["content-type"], reply.left) == (403, content_type, 0)
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert not any(name.startswith("access-control-") for name in reply.headers)
    return reply.body.decode()


@pytest.mark.parametrize(("path", "headers", "content_type"), WAYS)
def test_every_service_refuses_a_page_of_another_origin_in_its_own_form(
    path: str, headers: dict[str, str], content_type: str
) -> None:
    body = bytes(3 << 20)  # read to its end, or the connection would break
    for about in (EVIL, {**LOCAL, "sec-fetch-site": "same-site"}, {**LOCAL, "origin": "null"}):
        text = refused(call(pages(), "POST", path, headers={**headers, **about}, body=body), content_type)
        assert "--allow-origin" in text or path.startswith("http:")


@pytest.mark.parametrize(("path", "headers", "content_type"), WAYS)
def test_every_service_refuses_a_foreign_host(path: str, headers: dict[str, str], content_type: str) -> None:
    text = refused(call(pages(), "POST", path, headers={**headers, "host": "evil.test:4700"}), content_type)
    assert "evil.test" in text
    assert "--allow-host" in text


@pytest.mark.parametrize(("target", "status"), [("*", 200), ("http://localhost/bucket", 200), ("evil.test:443", 403)])
def test_a_target_that_is_no_path_is_judged_by_the_host_in_it(target: str, status: int) -> None:
    assert call(pages(), "OPTIONS", target, LOCAL).status == status


def test_a_refusal_repeats_no_markup() -> None:
    headers = {"host": "<script>alert(1)</script>", **FORM}
    assert "<script>" not in refused(call(pages(), "POST", "/", headers), "text/xml")
    assert json.loads(refused(call(pages(), "POST", INVOCATIONS, headers), "application/json"))


def test_requests_of_programs_and_of_the_endpoints_own_pages_are_served() -> None:
    for about in ({}, LOCAL, {**LOCAL, "origin": "http://127.0.0.1:4700", "sec-fetch-site": "same-origin"}):
        reply = call(pages(), "GET", "/bucket/key", about)
        assert (reply.status, reply.body) == (200, b"/bucket/key")


@pytest.mark.parametrize(
    ("about", "taken"),
    [
        (LOCAL, True),
        ({}, True),
        (EVIL, False),
        (FRIEND, False),
        ({"host": "evil.test"}, False),
        ({**LOCAL, "sec-fetch-site": "cross-site"}, False),
    ],
)
def test_only_a_request_without_foreign_headers_is_taken_inline(about: dict[str, str], taken: bool) -> None:
    headers = [(name.encode(), value.encode()) for name, value in about.items()]
    scope = {"type": "http", "method": "POST", "path": INVOCATIONS, "query_string": b"", "headers": headers}
    guard = pages()
    for _ in range(2):  # the second time it is remembered
        assert (guard.inline(scope) is not None) is taken


def test_a_page_that_is_allowed_may_ask_everything_and_read_the_answer() -> None:
    asking = {"access-control-request-method": "PUT", "access-control-request-headers": "x-amz-date"}
    private = {"access-control-request-private-network": "true"}
    preflight = call(pages(), "OPTIONS", "/bucket/key", {**FRIEND, **asking, **private})
    answer = call(pages(), "POST", INVOCATIONS, FRIEND)
    assert preflight.status == 204
    allowed = {name.removeprefix("access-control-"): value for name, value in preflight.headers.items()}
    assert (allowed["allow-origin"], allowed["allow-methods"]) == ("http://friend.test", "PUT")
    assert (allowed["allow-headers"], allowed["allow-private-network"]) == ("x-amz-date", "true")
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "http://friend.test")
    assert answer.headers["access-control-expose-headers"] == "*"


def test_a_service_that_judges_by_itself_is_asked_about_pages_but_not_about_hosts() -> None:
    judging = {"s3": service}
    asked = call(pages(judging), "GET", "/bucket/key", EVIL)
    assert asked.status == 200
    refused(call(pages(judging), "GET", "/bucket/key", {**EVIL, "host": "evil.test"}), "application/xml")
    refused(call(pages(judging), "POST", INVOCATIONS, EVIL), "application/json")


def test_few_judgements_are_remembered_and_no_long_ones() -> None:
    guard = pages()
    for number in range(2 * JUDGED_MAX):
        call(guard, "GET", "/", headers={"host": f"evil-{number}.test"})
    call(guard, "GET", "/", headers={**LOCAL, "origin": "a" * 9000})
    assert guard.cached.cache_info().currsize == JUDGED_MAX
