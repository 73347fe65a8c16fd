"""The client of OpenAI's API, in a Python of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.helpers.wiring import only_if_asked, variables
from tests.endpoint.helpers import chat_container
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import packed, put

HERE = Path(__file__).parent


@pytest.fixture
def chatting(tmp_path: Path) -> Iterator[LiveEndpoint]:
    images = tmp_path / "images.toml"
    command = [sys.executable, chat_container.__file__, "{port}"]
    images.write_text(f'[[image]]\nmatch = "chat*"\ncommand = {command!r}\n')
    with LiveEndpoint(tmp_path / "data", "--images", str(images)) as live:
        yield live


@only_if_asked("openai", "make clients-openai")
def test_chats_completions_and_embeddings_come_as_the_client_has_them(chatting: LiveEndpoint) -> None:
    put(chatting.folder("chat"), {f"models/{name}.tar.gz": packed({"word": name}) for name in ("owl", "fox")})
    chatting.deploy("chat", Variant(many("chat/models", Image="chat:1")))
    command: list[str | Path] = [os.environ["TORPOR_PYTHON"], HERE / "openai_client.py", f"{chatting.url}/openai/v1"]
    subprocess.run(command, env=variables(chatting), check=True, timeout=120)
