"""Reads the paths of OpenAI's API: what a request wants, and at which endpoint.

A client's base URL ends in `/openai/v1`, as on AWS, perhaps below `/endpoints/{endpoint}`, or in `/v1`, perhaps with
`/endpoints/{endpoint}` behind it. One model alone is shown below `/openai/v1`: `/v1/models/{model}` is TensorFlow
Serving's.
"""

import re
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import unquote


class OpenAiAction(StrEnum):
    """The calls that name their model have the names of their operations (`protocol_types.OPENAI_PATHS`)."""

    CHAT = "chat-completions"
    COMPLETIONS = "completions"
    EMBEDDINGS = "embeddings"
    LIST = "list"
    RETRIEVE = "retrieve"


class OpenAiCall(NamedTuple):
    """`endpoint` is None where the path names none; `model` is empty but for RETRIEVE."""

    action: OpenAiAction
    endpoint: str | None = None
    model: str = ""


OPENAI = r"(?:/endpoints/(?P<endpoint>[^/]+))?/openai/v1/"
PLAIN = r"/v1/(?:endpoints/(?P<within>[^/]+)/)?"
PATHS = re.compile(
    rf"{OPENAI}(?P<call>chat/completions|completions|embeddings|models)(?:/(?P<model>(?<=models/).+))?"
    rf"|{PLAIN}(?P<plain>chat/completions|completions|embeddings|models)",
    re.DOTALL,
)
POSTS = {
    "chat/completions": OpenAiAction.CHAT,
    "completions": OpenAiAction.COMPLETIONS,
    "embeddings": OpenAiAction.EMBEDDINGS,
}


class WrongMethod(ValueError):
    """The path takes another method, `allowed`."""

    def __init__(self, text: str, allowed: str) -> None:
        super().__init__(text)
        self.allowed = allowed


def parsed(method: str, raw_path: str) -> OpenAiCall:
    """What a request wants. `raw_path` is the path as it was sent, still encoded. Raises WrongMethod."""
    found = PATHS.fullmatch(raw_path)
    if found is None:  # a path that is one of them only once it is decoded
        raise WrongMethod(f"OpenAI's API has no path {raw_path[:200]}", "")
    call = found["call"] or found["plain"]
    named = found["endpoint"] or found["within"]
    endpoint = None if named is None else unquote(named)
    allowed = "POST" if call in POSTS else "GET"
    if method != allowed and not (method == "HEAD" and allowed == "GET"):
        raise WrongMethod(f"{raw_path[:200]} takes {allowed}, and not {method}", allowed)
    if call in POSTS:
        return OpenAiCall(POSTS[call], endpoint)
    if found["model"]:
        return OpenAiCall(OpenAiAction.RETRIEVE, endpoint, unquote(found["model"]))
    return OpenAiCall(OpenAiAction.LIST, endpoint)
