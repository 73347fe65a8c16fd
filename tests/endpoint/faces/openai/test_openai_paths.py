"""The paths of OpenAI's API, and which of them the gateway gives to its face."""

import pytest

from torpor_endpoint.faces.openai.openai_paths import OpenAiAction, OpenAiCall, WrongMethod, parsed
from torpor_endpoint.services.service_register import ADDRESSES, OPENAI, TF_SERVING

CHAT, LIST = OpenAiAction.CHAT, OpenAiAction.LIST


@pytest.mark.parametrize(
    ("method", "path", "call"),
    [
        ("POST", "/openai/v1/chat/completions", OpenAiCall(CHAT)),
        ("POST", "/v1/completions", OpenAiCall(OpenAiAction.COMPLETIONS)),
        ("POST", "/endpoints/Z%C3%BC/openai/v1/embeddings", OpenAiCall(OpenAiAction.EMBEDDINGS, "Zü")),
        ("POST", "/v1/endpoints/e/chat/completions", OpenAiCall(CHAT, "e")),
        ("GET", "/v1/models", OpenAiCall(LIST)),
        ("HEAD", "/v1/endpoints/e/models", OpenAiCall(LIST, "e")),
        ("GET", "/openai/v1/models", OpenAiCall(LIST)),
        ("GET", "/openai/v1/models/a%2Fb.tar.gz", OpenAiCall(OpenAiAction.RETRIEVE, None, "a/b.tar.gz")),
    ],
)
def test_a_path_says_what_is_wanted(method: str, path: str, call: OpenAiCall) -> None:
    assert parsed(method, path) == call
    assert ADDRESSES.service_of(method, path, {}) == OPENAI


@pytest.mark.parametrize(
    ("method", "path", "allowed"), [("GET", "/v1/completions", "POST"), ("POST", "/v1/models", "GET")]
)
def test_another_method_is_told_the_right_one(method: str, path: str, allowed: str) -> None:
    with pytest.raises(WrongMethod, match=f"takes {allowed}, and not {method}"):
        parsed(method, path)


def test_one_model_below_v1_is_tensorflow_servings_and_a_bucket_keeps_its_other_keys() -> None:
    assert ADDRESSES.service_of("GET", "/v1/models/iris", {}) == TF_SERVING
    for path in ("/openai/v1/responses", "/openai/models/a.tar.gz", "/endpoints/e/v1/models"):
        assert ADDRESSES.service_of("GET", path, {}) == "s3"
