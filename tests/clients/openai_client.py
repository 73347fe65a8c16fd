"""The client of OpenAI's API, unchanged, against an endpoint with the models `owl` and `fox` of `chat_container`.

    TORPOR_PYTHON=<a Python with openai> TORPOR_CLIENTS=openai python -m pytest tests/clients/test_openai.py

Its argument is the base URL.
"""

import sys
from collections.abc import Callable
from typing import Any

import openai  # type: ignore[import-not-found]


def main(url: str) -> None:
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()] == ["fox.tar.gz", "owl.tar.gz"]
    messages = [{"role": "user", "content": "hi"}]
    answer = client.chat.completions.create(model="owl", messages=messages)
    assert answer.choices[0].message.content == "owl: hi"
    events = client.chat.completions.create(model="fox", messages=messages, stream=True)
    assert "".join(event.choices[0].delta.content for event in events) == "fox: hi"
    assert client.completions.create(model="fox.tar.gz", prompt="p").choices[0].text == "fox: p"
    assert client.embeddings.create(model="owl", input="a").data[0].embedding == [1.0, 2.0]
    assert client.models.retrieve("owl").status["value"] == "loaded"
    refusals(client)
    print("openai passes")


def refusals(client: openai.OpenAI) -> None:
    def chat(said: str, model: str = "owl", **more: Any) -> Any:
        return client.chat.completions.create(model=model, messages=[{"role": "user", "content": said}], **more)

    assert refused(openai.NotFoundError, lambda: chat("hi", "none")).code == "model_not_found"
    assert refused(openai.BadRequestError, lambda: chat("too much")).code == "context_length"
    assert "broke" in str(refused(openai.APIError, lambda: list(chat("break", stream=True))))


def refused(kind: type[Exception], call: Callable[[], object]) -> Any:
    """The error of a call that must be refused."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError("it was answered")


if __name__ == "__main__":
    main(*sys.argv[1:])
