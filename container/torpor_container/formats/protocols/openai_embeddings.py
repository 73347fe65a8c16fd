"""Answers requests of OpenAI's API by a script, which gets the body as it was sent, as `application/json`.

What a script answers is the answer, streams too. Embeddings may be bare: a JSON list with a vector for each input is
written in the API's form (https://platform.openai.com/docs/api-reference/embeddings).
"""

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from torpor_container.content.media import JSON, media_type
from torpor_container.core.protocols.protocol_types import OPENAI_PATHS
from torpor_container.errors import PredictionFailed
from torpor_container.formats.script.part_sender import Streamed
from torpor_container.invocation import Invocation, Reply

EMBEDDINGS = OPENAI_PATHS["embeddings"]
NO_VECTORS = "the script's embeddings are no list with a vector of numbers for each input"


def in_openais_form(
    path: str, invocation: Invocation, answered: Callable[[Invocation], Reply | Streamed]
) -> Reply | Streamed:
    """`answered` has the script's functions answer. Raises what it raises, and PredictionFailed for a list that has no
    vectors."""
    inner = replace(invocation, content_type=JSON)
    inner.headers = [header for header in invocation.headers if header[0] != b"content-type"]
    inner.streamed = invocation.streamed
    request = invocation.body if path == EMBEDDINGS else b""
    reply = answered(inner)
    if path != EMBEDDINGS or isinstance(reply, Streamed) or media_type(reply.content_type) != JSON:
        return reply
    if reply.status != 200 or not reply.body.lstrip().startswith(b"["):
        return reply
    return reply._replace(body=embeddings(json.loads(reply.body), json.loads(request)), content_type=JSON)


def embeddings(vectors: Any, request: Any) -> bytes:
    """The API's answer with these vectors. A script counts no tokens: the answer has none. Raises PredictionFailed."""
    try:
        rows = np.array(vectors, np.float32)
    except (ValueError, TypeError):
        raise PredictionFailed(NO_VECTORS) from None
    if rows.ndim != 2:
        raise PredictionFailed(NO_VECTORS)
    in_base64 = isinstance(request, dict) and request.get("encoding_format") == "base64"
    written = [b64encode(row.astype("<f4").tobytes()).decode() for row in rows] if in_base64 else vectors
    data = [{"object": "embedding", "index": place, "embedding": one} for place, one in enumerate(written)]
    model = request.get("model") if isinstance(request, dict) else None
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return json.dumps({"object": "list", "data": data, "model": model or "model", "usage": usage}).encode()
