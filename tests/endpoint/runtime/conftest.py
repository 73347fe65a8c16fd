"""One multi-model endpoint for all stories of the runtime API that need no settings of their own."""

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import booster, packed, put, script

ECHO = """
import json
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    return json.dumps({"body": str(body), "content_type": content_type, "accept": accept}), accept
"""
RAISING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    raise ValueError(f"no such house: {body}")
"""
VERBOSE = RAISING.replace("{body}", "{'x' * 5_000_000}")
UNLOADABLE = """
def model_fn(model_dir):
    raise RuntimeError("the weights are not here")
"""
WAITING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    return open(str(body)).read(), "text/plain"
"""
"""Its answer comes when somebody has written to the pipe that the body names."""

MODELS = {
    "good.json": booster(),
    "good.tar.gz": packed({"xgboost-model": booster()}),
    "deep/er/Zürich.tar.gz": packed({"model.json": booster(2.0)}),
    "echo.tar.gz": script(ECHO),
    "raising.tar.gz": script(RAISING),
    "verbose.tar.gz": script(VERBOSE),
    "unloadable.tar.gz": script(UNLOADABLE),
    "waiting.tar.gz": script(WAITING),
}


@pytest.fixture(scope="session")
def models(live: LiveEndpoint) -> str:
    """The prefix of the models above."""
    put(live.folder("houses"), {f"models/{name}": body for name, body in MODELS.items()})
    return "houses/models"


@pytest.fixture(scope="session")
def houses(live: LiveEndpoint, models: str) -> str:
    return live.deploy("Houses", Variant(many(models)))
