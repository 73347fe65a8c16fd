"""One multi-model endpoint for all stories of the faces, with models of several formats and a script."""

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import booster, packed, put, script

FAILING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    raise ValueError("no such house")
"""
MODELS = {
    "good.tar.gz": packed({"xgboost-model": booster()}),
    "deep/er/Zürich.tar.gz": packed({"model.json": booster(2.0)}),
    "failing.tar.gz": script(FAILING),
}


@pytest.fixture(scope="session")
def faced(live: LiveEndpoint) -> str:
    """The endpoint's name."""
    put(live.folder("faced"), {f"models/{name}": body for name, body in MODELS.items()})
    return live.deploy("Faced", Variant(many("faced/models")))
