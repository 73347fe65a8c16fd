"""The reference: a bare container of one hop, uvicorn and Starlette, that parses a row, predicts and answers."""

import os
import sys

import numpy as np
import uvicorn
import xgboost
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route


def make_app() -> Starlette:
    """The one model is the file named by BARE_MODEL."""
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(os.environ["BARE_MODEL"])

    async def invocations(request: Request) -> Response:
        body = await request.body()
        row = np.array(body.split(b","), np.float32).reshape(1, -1)
        return PlainTextResponse(str(booster.inplace_predict(row)[0]))

    return Starlette(routes=[Route("/invocations", invocations, methods=["POST"])])


if __name__ == "__main__":
    uvicorn.run(make_app(), host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_level="warning")
