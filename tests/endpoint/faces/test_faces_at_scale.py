"""How long lists of models hold the event loop up, with 10,000 models below a prefix and in memory.

So do the orders to load ahead, which begin with a list of what is in memory.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.endpoint.helpers.many_endpoints import FULL, MODELS, ManyEndpoints, done, full_instance
from torpor_account.aws.wire.asgi import Message, Response, Scope
from torpor_endpoint.faces.finding_models import FaceModels
from torpor_endpoint.faces.finding_targets import ModelListing, Targets
from torpor_endpoint.faces.models_in_sight import ModelsInSight
from torpor_endpoint.faces.open_inference.v2_paths import V2Action, V2Call
from torpor_endpoint.faces.open_inference.v2_repository import V2Repository
from torpor_endpoint.faces.openai.openai_face import OpenAiFace
from torpor_endpoint.fleet import ahead_loading
from torpor_endpoint.fleet.ahead_loading import in_turns, resident

SCOPE: Scope = {"type": "http", "headers": []}
COLD = 10_000
"""So many further models are below the prefix."""


class Prefix:
    """Objects that nobody reads."""

    def keys(self, bucket: str, prefix: str) -> list[str]:
        return [f"{prefix}m{number}.tar.gz" for number in range(MODELS + COLD)]


class Faces:
    """Those that list models."""

    def __init__(self, many: ManyEndpoints) -> None:
        targets = Targets(cast(ModelListing, Prefix()))
        sight = ModelsInSight(many.roster, targets)
        recorded = many.recorded
        self._repository = V2Repository(many.roster, targets, sight, lambda: recorded.reading, recorded.ledger.flush)
        self._openai = OpenAiFace(cast(Any, None), FaceModels(many.roster, targets), sight)

    async def told(self, action: V2Action, body: bytes = b"") -> Any:
        answer: Response = await self._repository.rows()[action](V2Call(action, FULL), SCOPE, body)
        assert answer.status == 200
        return answer.body

    async def openai(self) -> bytes:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        path = f"/endpoints/{FULL}/openai/v1/models"
        scope = {**SCOPE, "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
        await self._openai(scope, cast(Any, None), send)
        assert sent[0]["status"] == 200, sent
        return b"".join(message.get("body", b"") for message in sent[1:])


@pytest.fixture(scope="module")
def instance() -> Iterator[tuple[str, int]]:
    with full_instance() as address:
        yield address


def test_the_index_of_open_inference_tells_all_models_and_which_are_in_memory(
    tmp_path: Path, instance: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = done(lambda many: Faces(many).told(V2Action.INDEX), tmp_path, instance, monkeypatch)
    states = [one["state"] for one in json.loads(body)]
    assert (states.count("READY"), states.count("UNAVAILABLE")) == (MODELS, COLD)


@pytest.mark.thorough
def test_the_index_of_those_in_memory(
    tmp_path: Path, instance: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = b'{"ready": true}'
    body = done(lambda many: Faces(many).told(V2Action.INDEX, asked), tmp_path, instance, monkeypatch)
    assert len(json.loads(body)) == MODELS


def test_the_statistics_of_all_models(
    tmp_path: Path, instance: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = done(lambda many: Faces(many).told(V2Action.STATISTICS), tmp_path, instance, monkeypatch)
    assert len(json.loads(body)["model_stats"]) == MODELS


@pytest.mark.thorough
def test_openais_list_of_models(tmp_path: Path, instance: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    body = done(lambda many: Faces(many).openai(), tmp_path, instance, monkeypatch)
    assert len(json.loads(body)["data"]) == MODELS + COLD


@pytest.mark.thorough
def test_what_is_in_memory_before_models_are_loaded_ahead(
    tmp_path: Path, instance: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def held(many: ManyEndpoints) -> tuple[int, int]:
        live = many.roster.get(FULL)
        assert live is not None
        (pool,) = live.pools.values()
        return len(await resident(pool)), len(await resident(pool, below="m999"))

    assert done(held, tmp_path, instance, monkeypatch) == (MODELS, 11)


def test_loads_that_wait_for_their_turn_are_not_made_yet() -> None:
    async def story() -> None:
        gate, made = asyncio.Event(), list[int]()

        async def load(number: int) -> int:
            await gate.wait()
            return number

        def loads() -> Iterator[Any]:
            for number in range(10):
                made.append(number)
                yield load(number)

        turns = asyncio.create_task(in_turns(loads(), 3))
        for _ in range(5):
            await asyncio.sleep(0)
        assert made == [0, 1, 2]
        gate.set()
        assert sorted(await turns) == made == list(range(10))

    asyncio.run(story())
    assert ahead_loading.AT_ONCE_MAX < MODELS
