"""The floor: one hop, no residency, no accounting: a Starlette app under gunicorn that parses a row and predicts."""

import os

import numpy as np
import xgboost
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route


def make_app() -> Starlette:
    """The environment variable BARE_MODEL names the model's file."""
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(os.environ["BARE_MODEL"])

    async def invocations(request: Request) -> Response:
        body = await request.body()
        row = np.array(body.split(b","), np.float32).reshape(1, -1)
        return PlainTextResponse(str(booster.inplace_predict(row, validate_features=False)[0]))

    return Starlette(routes=[Route("/invocations", invocations, methods=["POST"])])
