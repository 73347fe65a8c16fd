"""The credentials of an instance: for its token alone, new ones before the old ones expire, and none after its end."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from botocore.credentials import ContainerProvider

from tests.account.helpers.in_memory_iam import ACCOUNT, database, trust
from torpor_account.aws.wire.asgi import Message
from torpor_account.iam.context import Iam
from torpor_account.iam.execution.credentials_pages import CredentialsPages
from torpor_account.iam.execution.execution_roles import ExecutionRoles
from torpor_account.iam.execution.grants import NoGrant, RoleGrants
from torpor_account.iam.execution.loopback import LoopbackPages
from torpor_account.iam.execution.refused import RoleRefused
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.ids import KeyPair
from torpor_account.iam.identity_records import Role
from torpor_account.storage.tag_store import Tags
from torpor_container.artifacts.errors import ArtifactForbidden, StoreUnreachable
from torpor_container.artifacts.stores.s3_access import S3Access, check_readable, role_credentials
from torpor_container.processes.inherited_variables import CREDENTIALS

READER = f"arn:aws:iam::{ACCOUNT}:role/reader"
SHOP = f"arn:aws:sagemaker:us-east-1:{ACCOUNT}:endpoint/shop"


class Endpoint:
    """Roles, grants and the page of an endpoint whose clock a test moves. It begins at real time: SDKs know that."""

    def __init__(self, iam: Iam, lasts_s: int = 3600) -> None:
        self.now_s = time.time()
        self.iam = iam
        iam.roles.put(Role("reader", "AROA", 0.0, trust()))
        self.directory = Directory(iam, ACCOUNT, KeyPair("AKIAROOT", "root"))
        roles = ExecutionRoles(self.directory, ACCOUNT, "us-east-1", lambda: self.now_s)
        self.grants = RoleGrants(roles, iam.grants, lambda: self.now_s, lasts_s)
        self.pages = CredentialsPages(self.grants, self._why_unreadable)

    def _why_unreadable(self, role: str, source: str, bucket: str, key: str) -> str | None:
        known = (role, source, bucket, key) == (READER, SHOP, "ours", "a b/m+ü")
        return None if known else f"s3://{bucket}/{key} (AccessDenied)"

    def asked(self, token: str, method: str = "GET") -> tuple[int, dict[str, Any]]:
        """The answer of the page of credentials."""
        said: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            said.append(message)

        scope = {"type": "http", "method": method, "path": CREDENTIALS, "headers": [(b"authorization", token.encode())]}
        asyncio.run(self.pages.lend(scope, receive, send))
        return said[0]["status"], json.loads(said[1]["body"])


@pytest.fixture
def iam() -> Iterator[Iam]:
    with database() as found:
        yield Iam(found, Tags(found), time.time)


def test_a_token_gets_credentials_of_its_role(iam: Iam) -> None:
    endpoint = Endpoint(iam)
    found = endpoint.grants.credentials(endpoint.grants.begin("slot", READER, SHOP))
    known = endpoint.directory.find(found.access_key)
    assert known is not None
    assert known.principal.arn == f"arn:aws:sts::{ACCOUNT}:assumed-role/reader/SageMaker"
    assert (known.secret, known.expires_s) == (found.secret, int(endpoint.now_s) + 3600)
    assert known.token_sha256 == sha256(found.token.encode()).hexdigest()


def test_credentials_are_renewed_a_third_before_they_expire(iam: Iam) -> None:
    endpoint = Endpoint(iam)
    token = endpoint.grants.begin("slot", READER, SHOP)
    keys = []
    for _ in range(9):
        keys.append(endpoint.grants.credentials(token).access_key)
        endpoint.now_s += 1000.0
    assert [len(set(keys[at : at + 3])) for at in (0, 3, 6)] == [1, 1, 1]
    assert len(set(keys)) == 3
    assert [key for key in keys[::3] if endpoint.directory.find(key)] == keys[3::3]


def test_an_ended_owner_s_token_and_credentials_are_void(iam: Iam) -> None:
    endpoint = Endpoint(iam)
    token, other = endpoint.grants.begin("slot", READER, SHOP), endpoint.grants.begin("other", READER, SHOP)
    key, kept = endpoint.grants.credentials(token).access_key, endpoint.grants.credentials(other).access_key
    assert endpoint.directory.find(key)
    endpoint.grants.end("slot")
    endpoint.grants.end("nobody")
    assert endpoint.directory.find(key) is None
    assert endpoint.directory.find(kept)
    with pytest.raises(NoGrant):
        endpoint.grants.credentials(token)


def test_the_next_launch_of_a_slot_voids_the_last_one_s_token(iam: Iam) -> None:
    endpoint = Endpoint(iam)
    old, new = (endpoint.grants.begin("slot", READER, SHOP) for _ in range(2))
    assert endpoint.asked(new)[0] == 200
    assert endpoint.asked(old) == (403, {"code": "AccessDenied", "message": "No instance that runs has this token."})


def test_what_a_killed_endpoint_granted_is_void_but_for_instances_that_run_on(iam: Iam) -> None:
    killed = Endpoint(iam)
    tokens = [killed.grants.begin(owner, READER, SHOP) for owner in ("gone", "runs on")]
    keys = [killed.grants.credentials(token).access_key for token in tokens]
    next_one = Endpoint(iam)
    next_one.grants.keep({"runs on"})
    assert [next_one.directory.find(key) is not None for key in keys] == [False, True]
    assert [next_one.asked(token)[0] for token in tokens] == [403, 200]
    next_one.grants.end("runs on")
    assert next_one.asked(tokens[1])[0] == 403
    assert (iam.grants.all(), iam.temporary.all()) == ((), ())


def test_a_role_that_trusts_sagemaker_no_more_gives_no_new_credentials(iam: Iam) -> None:
    endpoint = Endpoint(iam)
    token = endpoint.grants.begin("slot", READER, SHOP)
    iam.change_role("reader", lambda role: Role("reader", "AROA", 0.0, trust("lambda.amazonaws.com")))
    endpoint.directory.forget()
    with pytest.raises(RoleRefused, match="The execution role ARN"):
        endpoint.grants.begin("other", READER, SHOP)
    assert endpoint.asked(token)[0] == 403
    assert endpoint.asked(token, "POST")[0] == 405


def test_botocore_s_own_provider_asks_again_before_credentials_expire(iam: Iam) -> None:
    """It renews what holds for less than ten minutes: here, each time."""
    endpoint = Endpoint(iam, lasts_s=300)
    token = endpoint.grants.begin("slot", READER, SHOP)

    class Fetcher:
        def retrieve_full_uri(self, url: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
            status, answer = endpoint.asked((headers or {})["Authorization"])
            assert (status, url) == (200, "http://127.0.0.1:4700/_torpor/credentials")
            return answer

    environment = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:4700/_torpor/credentials"}
    environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = token
    credentials = ContainerProvider(environment, Fetcher()).load()
    first = credentials.get_frozen_credentials()
    endpoint.now_s += 250.0
    second = credentials.get_frozen_credentials()
    assert first.access_key != second.access_key
    assert all(endpoint.directory.find(one.access_key) for one in (first, second))


def test_an_instance_asks_on_loopback_for_credentials_and_what_they_may_read(iam: Iam) -> None:
    endpoint = Endpoint(iam)
    token = endpoint.grants.begin("slot", READER, SHOP)

    async def story() -> None:
        pages = LoopbackPages(endpoint.pages.by_path)
        await pages.start()
        access = S3Access(credentials_url=f"http://127.0.0.1:{pages.port}{CREDENTIALS}", credentials_token=token)
        found = await asyncio.to_thread(role_credentials, access)
        assert endpoint.directory.find(found["access_key_id"])
        await asyncio.to_thread(check_readable, access, "ours", "a b/m+ü")
        for refused, bucket in ((access, "theirs"), (replace(access, credentials_token="another"), "ours")):
            with pytest.raises(ArtifactForbidden):
                await asyncio.to_thread(check_readable, refused, bucket, "a b/m+ü")
        with pytest.raises(StoreUnreachable, match="400"):
            await asyncio.to_thread(check_readable, access, "", "")
        await pages.close()
        with pytest.raises(StoreUnreachable):
            await asyncio.to_thread(check_readable, access, "ours", "a b/m+ü")

    asyncio.run(story())


@pytest.mark.parametrize("sent", [b"\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 20_000])
def test_what_is_no_request_for_credentials_gets_nothing(iam: Iam, sent: bytes) -> None:
    async def story() -> None:
        pages = LoopbackPages(Endpoint(iam).pages.by_path)
        await pages.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", pages.port)
        writer.write(sent)
        with suppress(ConnectionError):
            assert (await reader.read())[:12] in (b"", b"HTTP/1.1 404")
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        await pages.close()

    asyncio.run(story())
