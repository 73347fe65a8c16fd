"""LitServe with one XGBoost model: a LitAPI that reads a row out of JSON, predicts, and answers a number. It runs in
the environment of its own requirements: `program.py MODEL PORT`."""

import sys
from typing import Any

import litserve
import numpy as np
import xgboost
from starlette.requests import Request


class Rows(litserve.LitAPI):  # type: ignore[misc]  # the package is in that environment alone
    def __init__(self, model: str) -> None:
        super().__init__()
        self._model = model

    def setup(self, device: str) -> None:
        self._booster = xgboost.Booster({"nthread": 1})
        self._booster.load_model(self._model)

    def decode_request(self, request: Request) -> Any:
        """Annotated so, it gets the JSON that came, which is the cheapest way in."""
        return np.array([request["input"]], np.float32)

    def predict(self, rows: Any) -> Any:
        return self._booster.inplace_predict(rows)

    def encode_response(self, predicted: Any) -> dict[str, float]:
        return {"output": float(predicted[0])}


if __name__ == "__main__":
    model, port = sys.argv[1:]
    server = litserve.LitServer(Rows(model), accelerator="cpu", workers_per_device=1)
    server.run(host="127.0.0.1", port=int(port), log_level="error", generate_client_file=False, access_log=False)
