"""Reads the three shapes in which containers answer ListModels. It sends nothing."""

import json
from typing import Any


def page_of(body: bytes) -> tuple[set[str], str | None]:
    """The names on one page and the token of the next. Raises ValueError for any other document.

    SageMaker's is `{"models": [{"modelName": ...}], "nextPageToken": ...}`. Triton lists models that are not ready as
    empty objects; TensorFlow Serving's container answers a map from names to anything; both work on AWS.
    """
    document = json.loads(body)
    if not isinstance(document, dict):
        raise ValueError("ListModels did not answer a JSON object")
    if "models" not in document:
        return {name for name in document if name != "nextPageToken"}, None
    models = document["models"] or []
    if not isinstance(models, list):
        raise ValueError("the models of ListModels are no list")
    token = document.get("nextPageToken")
    return {name for model in models if (name := _name(model))}, str(token) if token else None


def _name(model: Any) -> str | None:
    name = model.get("modelName") if isinstance(model, dict) else model
    return name if isinstance(name, str) else None
