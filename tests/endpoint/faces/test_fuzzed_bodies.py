"""Bodies that are broken at random are refused or answered by every face, and none is Torpor's own failure."""

import http.client
import json
import random
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.endpoint.faces.conftest import MODELS
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, put
from tests.helpers.loop_watch import LoopWatch, Seen
from tests.helpers.machine_pace import holds_up
from tests.helpers.thorough_values import thorough

CELLS = [float(cell) for cell in ROW.split(b",")]
RAW = struct.pack("<4f", *CELLS)
TENSOR = {"name": "x", "shape": [1, 4], "datatype": "FP32"}
Call = tuple[str, bytes, dict[str, str]]


def in_binary(**members: Any) -> Call:
    head = json.dumps({**members, "inputs": [{**TENSOR, "parameters": {"binary_data_size": 16}}]}).encode()
    return "/v2/models/good/infer", head + RAW, {"inference-header-content-length": str(len(head))}


CALLS: list[Call] = [
    ("/v2/models/good/infer", json.dumps({"id": "7", "inputs": [{**TENSOR, "data": CELLS}]}).encode(), {}),
    in_binary(),
    in_binary(id="7", parameters={"binary_data_output": True}),
    ("/v1/models/good:predict", json.dumps({"instances": [CELLS]}).encode(), {}),
    ("/v1/models/good:regress", json.dumps({"examples": [{f"f{n}": one for n, one in enumerate(CELLS)}]}).encode(), {}),
    ("/openai/v1/embeddings", b'{"model": "good", "input": ["a"]}', {}),
    ("/openai/v1/chat/completions", b'{"messages": [{"role": "user", "content": "a"}], "model": "good"}', {}),
    ("/v2/repository/index", b'{"ready": true}', {}),
]
BLOCKS = 3_000
"""By so much may what a process holds differ from one moment to another: metrics have more points after each minute of
traffic, whatever it is, and a request that is kept has dozens."""
ROUNDS = 8
PIECES = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"null", b"1e999", b"-1", b"NaN", b"\xff", b"\0", b'"model"']
PIECES += [b"9223372036854775808", b"\\ud800", b'{"b64": "%"}', b"BYTES", b"BF16", b"[" * 2000, b"0" * 400, b'"data"']


def broken(dice: random.Random, body: bytes) -> bytes:
    """The body with one to four places cut, doubled, overwritten or filled with a piece that parsers trip over."""
    found = bytearray(body)
    for _ in range(dice.randint(1, 4)):
        start = dice.randint(0, len(found))
        end = min(len(found), start + dice.choice((0, 1, 1, 4, 16)))
        found[start:end] = dice.choice((b"", dice.choice(PIECES), dice.randbytes(3), bytes(found[start:end]) * 2))
    return bytes(found)


def fuzzed(dice: random.Random, number: int) -> Iterator[Call]:
    for _ in range(number):
        path, body, headers = dice.choice(CALLS)
        if headers and dice.random() < 0.3:
            headers = {name: dice.choice(("0", "-1", "x", "99999", "16", "")) for name in headers}
        yield path, broken(dice, body), headers


def answered(live: LiveEndpoint, calls: Iterable[Call]) -> Counter[int]:
    """How often each status was answered."""
    connection = http.client.HTTPConnection(urlsplit(live.url).netloc, timeout=60)
    statuses: Counter[int] = Counter()
    try:
        for path, body, headers in calls:
            connection.request("POST", path, body, {"x-torpor-endpoint": "Faced", **headers})
            answer = connection.getresponse()
            said = answer.read()
            assert answer.status < 500, (path, body, headers, answer.status, said)
            if answer.status != 200 or path.startswith("/v1/"):
                json.loads(said)
            statuses[answer.status] += 1
    finally:
        connection.close()
    return statuses


@pytest.mark.parametrize("number", [400, pytest.param(50_000, marks=pytest.mark.thorough)])
@pytest.mark.usefixtures("faced")
def test_no_broken_body_is_torpors_own_failure(live: LiveEndpoint, number: int) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    before = live.output()
    statuses = answered(live, fuzzed(random.Random(seed), number))
    assert statuses[400] > number // 4  # most of them are broken indeed
    assert "Traceback" not in live.output().removeprefix(before)
    intact = answered(live, iter(CALLS[:4]))
    assert intact == {200: 4}


@pytest.mark.parametrize("number", thorough(60, 6_000))
def test_broken_bodies_neither_hold_the_loop_up_nor_leave_anything_behind(tmp_path: Path, number: int) -> None:
    """In its best rounds, since the system takes some processor time by chance, and chores of the process fall into
    some."""
    dice, watch = random.Random(number), LoopWatch(tmp_path)
    with LiveEndpoint(tmp_path / "data", environment=watch.variables) as live:
        put(live.folder("faced"), {f"models/{name}": body for name, body in MODELS.items()})
        live.deploy("Faced", Variant(many("faced/models")))
        [watch.pid] = live.worker_pids()
        answered(live, CALLS)
        answered(live, fuzzed(dice, number))  # all that is remembered of names is full by now
        seen: list[Seen] = [watch.look()]
        while len(seen) <= ROUNDS:
            answered(live, fuzzed(dice, number))
            seen.append(watch.look())
            if (
                len(seen) > 2
                and not holds_up(min(one.longest_ms for one in seen[1:]))
                and _stays(seen, max(BLOCKS, number))
            ):
                return
    pytest.fail(f"{seen}")


def _stays(seen: list[Seen], most: int) -> bool:
    """Whether a later round has left no more behind than an earlier one, but for so many blocks."""
    return any(later.blocks <= earlier.blocks + most for earlier, later in pairwise(seen[1:]))
