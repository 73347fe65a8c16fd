"""An instance that shares artifacts: what it gives out, how much at a time, and what it hears of neighbours."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from tests.container.helpers.fake_store import FakeStore
from torpor_container.artifacts.location import Prefix
from torpor_container.artifacts.shared.kept_archives import KeptArchives
from torpor_container.artifacts.shared.named_neighbours import NamedNeighbours
from torpor_container.artifacts.shared.neighbour_store import NeighbourStore
from torpor_container.contract.contract_app import ContractApp
from torpor_container.contract.shared_artifacts_app import GIVEN_AT_ONCE, PIECE_BYTES, SharedArtifactsApp

BODY = bytes(range(256)) * (PIECE_BYTES // 256 * 2 + 1)
NAMED = b'[{"at": "/n", "ticket": ""}]'


class Routes:
    """The routes behind it: they say which requests came to them."""

    framed = b"/invocations"

    def __init__(self) -> None:
        self.came: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.came.append(scope["path"])

    def inline(self, scope: Any) -> Any:
        return "inline"


class Instance:
    """An instance that keeps version 1 of `m/a` for others."""

    def __init__(self, folder: Path) -> None:
        kept = KeptArchives(folder / "kept", 10**8)
        (folder / "file").write_bytes(BODY)
        kept.keep("m/a", "1", folder / "file")
        self.routes = Routes()
        self.store = NeighbourStore(FakeStore(), NamedNeighbours(Prefix("s3", "b", "m/")), kept)
        self.app = SharedArtifactsApp(cast(ContractApp, self.routes), self.store)
        self.gate = asyncio.Event()
        self.gate.set()
        self.left = asyncio.Event()

    def scope(self, path: str, **headers: bytes) -> Any:
        named = {"target": b"x-amzn-sagemaker-target-model", "version": b"x-torpor-artifact-version"}
        named["neighbours"] = b"x-torpor-neighbours"
        return {
            "type": "http",
            "method": "GET",
            "path": path,
            "headers": [(named[one], headers[one]) for one in headers],
        }

    async def asked(self, target: bytes = b"a", version: bytes = b"1") -> tuple[int, bytes, bytes]:
        """Status, length and body of the artifact that is asked for, which is taken once the gate is open."""
        status, length, body = 0, b"", b""

        async def send(message: Any) -> None:
            nonlocal status, length, body
            if message["type"] == "http.response.start":
                status, length = message["status"], dict(message["headers"])[b"content-length"]
            else:
                body += message["body"]
                await self.gate.wait()

        async def receive() -> Any:
            await self.left.wait()
            return {"type": "http.disconnect"}

        await self.app(self.scope("/_torpor/artifact", target=target, version=version), receive, send)
        return status, length, body


def test_what_is_kept_is_given_out_whole(tmp_path: Path) -> None:
    instance = Instance(tmp_path)
    assert asyncio.run(instance.asked()) == (200, b"%d" % len(BODY), BODY)
    assert (instance.store.given, instance.routes.came) == (1, [])


@pytest.mark.parametrize(
    ("target", "version", "status"), [(b"a", b"2", 404), (b"b", b"1", 404), (b"../a", b"1", 400), (b"", b"1", 400)]
)
def test_nothing_else_is_given_out(target: bytes, version: bytes, status: int, tmp_path: Path) -> None:
    instance = Instance(tmp_path)
    found, length, body = asyncio.run(instance.asked(target, version))
    assert (found, int(length), b"message" in body, instance.store.given) == (status, len(body), True, 0)


def test_a_few_are_given_out_at_a_time_and_a_neighbour_that_leaves_is_no_longer_one_of_them(tmp_path: Path) -> None:
    async def story() -> None:
        instance = Instance(tmp_path)
        instance.gate.clear()
        waiting = [asyncio.create_task(instance.asked()) for _ in range(GIVEN_AT_ONCE)]
        while instance.app.given < GIVEN_AT_ONCE:
            await asyncio.sleep(0)
        instance.gate.set()
        refused = asyncio.create_task(instance.asked())
        assert (await refused)[0] == 503
        assert [one[0] for one in await asyncio.gather(*waiting)] == [200] * GIVEN_AT_ONCE
        instance.gate.clear()
        leaving = asyncio.create_task(instance.asked())
        while not instance.app.given:
            await asyncio.sleep(0)
        instance.left.set()
        await leaving
        assert (instance.app.given, instance.store.given) == (0, GIVEN_AT_ONCE)

    asyncio.run(story())


def test_a_call_that_names_neighbours_is_heard_and_comes_by_asgi(tmp_path: Path) -> None:
    instance = Instance(tmp_path)
    for headers in ({"target": b"a"}, {"target": b"a", "neighbours": NAMED}, {"neighbours": NAMED}):
        scope = instance.scope("/invocations", **headers)
        assert cast(object, instance.app.inline(scope)) == (None if "neighbours" in headers else "inline")
        asyncio.run(instance.app(scope, cast(Any, None), cast(Any, None)))
    scope = instance.scope("/invocations", target=b"../a", neighbours=NAMED)
    asyncio.run(instance.app(scope, cast(Any, None), cast(Any, None)))
    assert instance.routes.came == ["/invocations"] * 4  # which refuse what is no model's name
    said = instance.store.named.taken("m/a")
    assert said is not None
    assert [one.at for one in said.places] == ["/n"]
