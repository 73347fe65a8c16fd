"""The reference: a bare container of one hop, uvicorn and Starlette, that parses rows, predicts and answers.

It is what people write themselves, in the fewest lines that are quick. One model, named by BARE_MODEL.
"""

import json
import os
import sys
from collections.abc import Callable

import numpy as np
import uvicorn
import xgboost
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

Predictor = Callable[[bytes], str]


def row(model: str) -> Predictor:
    """One CSV row a request."""
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(model)

    def predict(body: bytes) -> str:
        cells = np.array(body.split(b","), np.float32).reshape(1, -1)
        return str(booster.inplace_predict(cells)[0])

    return predict


def rows(model: str) -> Predictor:
    """Many rows of one column, answered as a JSON list."""
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(model)

    def predict(body: bytes) -> str:
        cells = np.array(list(map(float, body.split())), np.float32).reshape(-1, 1)
        return json.dumps(booster.inplace_predict(cells).tolist())

    return predict


def onnx_row(model: str) -> Predictor:
    """One CSV row a request, for an ONNX model of one input and one output."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def predict(body: bytes) -> str:
        cells = np.array(body.split(b","), np.float32).reshape(1, -1)
        return str(session.run(None, {name: cells})[0].item())

    return predict


PREDICTORS: dict[str, Callable[[str], Predictor]] = {"row": row, "rows": rows, "onnx-row": onnx_row}


def make_app(predict: Predictor) -> Starlette:
    async def invocations(request: Request) -> Response:
        return PlainTextResponse(predict(await request.body()))

    return Starlette(routes=[Route("/invocations", invocations, methods=["POST"])])


if __name__ == "__main__":
    app = make_app(PREDICTORS[sys.argv[2]](os.environ["BARE_MODEL"]))
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_level="warning")
