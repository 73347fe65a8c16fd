"""A script gets a request of OpenAI's API as it was sent, and its bare vectors become embeddings."""

import json
from base64 import b64decode
from typing import Any

import numpy as np
import pytest

from torpor_container.core.protocols.protocol_types import openai_path
from torpor_container.errors import PredictionFailed
from torpor_container.formats.protocols.openai_embeddings import in_openais_form
from torpor_container.formats.script.part_sender import Streamed
from torpor_container.invocation import Invocation, Reply

KIND = "application/vnd.torpor.openai+json;operation="


def answered(operation: str, request: Any, reply: Reply | Streamed) -> Reply | Streamed:
    call = Invocation(json.dumps(request).encode(), KIND + operation, "application/json", "trace")

    def script(inner: Invocation) -> Reply | Streamed:
        assert (inner.content_type, inner.body, inner.custom_attributes) == ("application/json", call.body, "trace")
        return reply

    path = openai_path(call.content_type)
    assert path is not None
    return in_openais_form(path, call, script)


def listed(request: Any, vectors: Any) -> Any:
    reply = answered("embeddings", request, Reply(json.dumps(vectors).encode(), "application/json"))
    assert isinstance(reply, Reply)
    return json.loads(reply.body)


def test_bare_vectors_are_written_in_the_apis_form() -> None:
    found = listed({"model": "m", "input": ["a", "b"]}, [[1.5, 2], [3, 4]])
    assert (found["object"], found["model"]) == ("list", "m")
    assert [(one["index"], one["embedding"]) for one in found["data"]] == [(0, [1.5, 2]), (1, [3, 4])]
    (one,) = listed({"encoding_format": "base64"}, [[1.5, 2]])["data"]
    assert np.frombuffer(b64decode(one["embedding"]), "<f4").tolist() == [1.5, 2.0]


@pytest.mark.parametrize(
    ("operation", "reply"),
    [
        ("embeddings", Reply(b'{"data": []}', "application/json")),
        ("embeddings", Reply(b"[1]", "text/plain")),
        ("embeddings", Reply(b"[1]", "application/json", status=400)),
        ("chat-completions", Reply(b"[[1]]", "application/json")),
        ("chat-completions", Streamed(b"data: 1", iter(()))),
    ],
)
def test_any_other_answer_is_the_scripts(operation: str, reply: Reply | Streamed) -> None:
    assert answered(operation, {"model": "m"}, reply) is reply


@pytest.mark.parametrize("vectors", [[1, 2], [[1], [2, 3]], [["a"]]])
def test_a_list_without_vectors_is_the_scripts_failure(vectors: Any) -> None:
    with pytest.raises(PredictionFailed, match="no list with a vector of numbers"):
        listed({}, vectors)


@pytest.mark.parametrize(
    "kind", ["application/json", KIND + "other", KIND[:-11], "application/json;operation=embeddings"]
)
def test_any_other_type_names_no_path(kind: str) -> None:
    assert openai_path(kind) is None
