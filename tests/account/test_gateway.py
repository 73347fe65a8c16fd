"""The gateway passes the same request to the signature's service, inline or by ASGI."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from torpor_account.aws.wire.asgi import Receive, Scope, Send, TakeInline, Tell
from torpor_account.gateway import Gateway
from torpor_endpoint.services.service_register import ADDRESSES

PATH = "/endpoints/houses/invocations"


async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("nothing comes by ASGI here")


def scope(path: str, *headers: tuple[bytes, bytes], query: bytes = b"") -> MutableMapping[str, Any]:
    return {"type": "http", "method": "POST", "path": path, "query_string": query, "headers": list(headers)}


def signed(service: str, signature: str = "0") -> tuple[bytes, bytes]:
    credential = f"Credential=key/20261122/us-east-1/{service}/aws4_request"
    return b"authorization", f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature={signature}".encode()


@pytest.mark.parametrize(
    ("asked", "taken"),
    [
        (scope(PATH, signed("sagemaker")), True),
        (scope(PATH, signed("sagemaker", "1")), True),
        (scope(PATH), True),
        (scope(PATH, signed("s3")), False),
        (scope(PATH, signed("sagemaker"), (b"x-amz-target", b"SageMaker.ListModels")), False),
        (scope(PATH, (b"authorization", b"AWS key:signature, Credential=")), False),
        (scope(PATH, query=b"uploads"), False),
        (scope("/endpoints/houses", signed("sagemaker")), False),
    ],
)
def test_an_invocation_is_taken_up_at_once_if_it_is_one(asked: Scope, taken: bool) -> None:
    bodies: list[bytes] = []

    def take_inline(scope: Scope, body: bytes, tell: Tell) -> bool:
        bodies.append(body)
        return True

    gateway = Gateway({}, nobody, "123456789012", ADDRESSES, inline={"sagemaker-runtime": lambda scope: take_inline})
    for _ in range(2):  # the second time it is remembered
        take = gateway.inline(asked)
        assert (take is not None) is taken
        assert take is None or take(asked, b"1,2", lambda *answer: None)
    assert bodies == [b"1,2"] * 2 * taken


def test_a_client_that_takes_the_endpoint_for_a_proxy_is_served() -> None:
    seen: list[Scope] = []

    async def runtime(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)

    async def story() -> None:
        url = f"http://somewhere{PATH}"
        whole = {**scope(url, signed("sagemaker")), "raw_path": url.encode()}
        await Gateway({"sagemaker-runtime": runtime}, nobody, "123456789012", ADDRESSES)(whole, unasked, unasked)

    asyncio.run(story())
    assert [(one["path"], one["raw_path"]) for one in seen] == [(PATH, PATH.encode())]


async def unasked(*message: Any) -> Any:
    raise AssertionError("nothing is read or sent")


@pytest.mark.parametrize("long", [scope(f"/{'a' * 5000}/invocations"), scope(PATH, (b"x-amz-target", b"a" * 5000))])
def test_a_long_request_is_left_to_asgi_and_not_cached(long: Scope) -> None:
    def inline(scope: Scope) -> TakeInline:
        raise AssertionError("it is not taken up at once")

    gateway = Gateway({}, nobody, "123456789012", ADDRESSES, inline={"sagemaker-runtime": inline})
    assert gateway.inline(long) is None
    assert gateway.remembered() == 0


def test_a_door_hands_a_request_on_by_the_service_that_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head of a signed request is searched once."""
    seen: list[Scope] = []

    async def runtime(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)

    gateway = Gateway({"sagemaker-runtime": runtime}, nobody, "123456789012", ADDRESSES)
    asked = scope(PATH, signed("sagemaker"))
    name = gateway.service_named(asked)
    monkeypatch.setattr(gateway, "service_named", None)
    asyncio.run(gateway.serve(name, asked, unasked, unasked))
    assert seen == [asked]
