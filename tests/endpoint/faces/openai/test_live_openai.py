"""OpenAI's API on the endpoint's port, with verified callers: the body names the model, and its container answers."""

import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.endpoint.faces.conftest import MODELS
from tests.endpoint.helpers import chat_container
from tests.endpoint.helpers.bearer_tokens import token
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import packed, put, script

CHAT = "/openai/v1/chat/completions"
VECTORS = """
import json
def model_fn(folder):
    return None
def transform_fn(model, body, content_type, accept):
    return json.dumps([[float(len(text)), 0.5] for text in json.loads(body)["input"]]), "application/json"
"""


@pytest.fixture(scope="module")
def chatting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    folder = tmp_path_factory.mktemp("openai")
    images = folder / "images.toml"
    command = [sys.executable, chat_container.__file__, "{port}"]
    images.write_text(f'[[image]]\nmatch = "chat*"\ncommand = {command!r}\n')
    with LiveEndpoint(folder, "--auth", "--images", str(images)) as live:
        models = {f"models/{name}.tar.gz": packed({"word": name}) for name in ("owl", "fox")}
        put(
            live.folder("chat"),
            {**models, "own/vectors.tar.gz": script(VECTORS), "own/good.tar.gz": MODELS["good.tar.gz"]},
        )
        live.deploy("Chat", Variant(many("chat/models", Image="chat:1")))
        live.deploy("Own", Variant(many("chat/own")))
        yield live


def asked(live: LiveEndpoint, path: str, body: Any = None, key: str | None = None, endpoint: str = "Chat") -> Any:
    """The answer, which the caller closes."""
    headers = {"x-torpor-endpoint": endpoint, "authorization": f"Bearer {key or token(*live.keys)}"}
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    try:
        return urlopen(Request(live.url + path, content, headers))
    except HTTPError as error:
        return error


def document(answer: Any, status: int = 200) -> Any:
    with answer:
        said = answer.read()
    assert answer.status == status, said
    return json.loads(said)


def said(text: str, model: str = "owl", **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "model": model, **more}


def loaded(live: LiveEndpoint) -> dict[str, str]:
    return {one["id"]: one["status"]["value"] for one in document(asked(live, "/v1/models"))["data"]}


class TestOpenAi:
    """On endpoints of many models."""

    def test_the_body_names_the_model_and_reaches_it_as_it_is(self, chatting: LiveEndpoint) -> None:
        assert loaded(chatting) == {"owl.tar.gz": "unloaded", "fox.tar.gz": "unloaded"}
        body = b' {"model" :"owl",  "messages": [{"role": "user", "content": "z\xc3\xbc"}]}\n'
        answer = document(asked(chatting, CHAT, body))
        assert answer["choices"][0]["message"]["content"] == "owl: zü"
        assert answer["system_fingerprint"] == sha256(body).hexdigest()
        found = document(
            asked(chatting, "/endpoints/Chat/openai/v1/completions", {"prompt": "p", "model": "fox.tar.gz"})
        )
        assert found["choices"][0]["text"] == "fox: p"
        assert loaded(chatting) == {"owl.tar.gz": "loaded", "fox.tar.gz": "loaded"}
        assert document(asked(chatting, "/openai/v1/models/owl"))["status"] == {"value": "loaded"}
        embedded = document(asked(chatting, "/v1/embeddings", {"input": "a", "model": "owl"}))
        assert embedded["data"][0]["embedding"] == [1.0, 2.0]

    def test_events_come_as_the_container_sends_them(self, chatting: LiveEndpoint, tmp_path: Path) -> None:
        with asked(chatting, CHAT, said(f"wait {tmp_path / 'go'}", stream=True)) as answer:
            assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
            assert b'"owl"' in answer.readline()  # the container waits after it
            (tmp_path / "go").touch()
            assert answer.read().endswith(b"data: [DONE]\n\n")
        with asked(chatting, CHAT, said("break", stream=True)) as broken:
            last = broken.read().strip().rpartition(b"\n\n")[2]
        assert json.loads(last.removeprefix(b"data: "))["error"]["code"] == "StreamBroken"

    def test_a_scripts_vectors_are_answered_as_embeddings(self, chatting: LiveEndpoint) -> None:
        body = {"input": ["ab", "c"], "model": "vectors"}
        answer = document(asked(chatting, "/v1/embeddings", body, endpoint="Own"))
        assert [one["embedding"] for one in answer["data"]] == [[2.0, 0.5], [1.0, 0.5]]
        refused = document(asked(chatting, "/v1/embeddings", {**body, "model": "good"}, endpoint="Own"), 400)
        assert "does not answer this operation" in refused["error"]["message"]

    @pytest.mark.parametrize(
        ("body", "status", "code", "text"),
        [
            (said("hi", model="none"), 404, "model_not_found", "none"),
            (said("too much"), 400, "context_length", "the context is too long"),
            (b"{", 400, None, "not JSON"),
            (b'{"model": "owl", "model": "fox"}', 400, None, "more than one member model"),
            (bytes(7 << 20), 413, None, "exceeds"),
        ],
    )
    def test_a_refusal_has_openais_form(
        self, chatting: LiveEndpoint, body: Any, status: int, code: str | None, text: str
    ) -> None:
        error = document(asked(chatting, CHAT, body), status)["error"]
        assert (error["code"], text in error["message"]) == (code, True), error
        assert error["type"] == "invalid_request_error"

    def test_another_caller_sees_and_calls_what_it_may(self, chatting: LiveEndpoint) -> None:
        iam = chatting.client("iam")
        iam.create_user(UserName="fox")
        keys = iam.create_access_key(UserName="fox")["AccessKey"]
        mine = token(keys["AccessKeyId"], keys["SecretAccessKey"])
        assert document(asked(chatting, CHAT, said("hi"), mine), 403)["error"]["type"] == "permission_error"
        only = {"StringLike": {"sagemaker:TargetModel": "fox*"}}
        statements = [
            {"Effect": "Allow", "Action": "sagemaker:CallWithBearerToken", "Resource": "*"},
            {"Effect": "Allow", "Action": "sagemaker:InvokeEndpoint", "Resource": "*", "Condition": only},
        ]
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        iam.put_user_policy(UserName="fox", PolicyName="own", PolicyDocument=policy)
        assert document(asked(chatting, CHAT, said("hi", model="fox"), mine))["model"] == "fox"
        assert document(asked(chatting, CHAT, said("hi", model="owl"), mine), 403)["error"]["code"] is None
        assert [one["id"] for one in document(asked(chatting, "/v1/models", key=mine))["data"]] == ["fox.tar.gz"]
        assert document(asked(chatting, CHAT, said("hi"), "sk-none"), 401)["error"]["type"] == "authentication_error"
