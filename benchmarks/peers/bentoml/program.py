"""A BentoML service of one XGBoost model: a row out of JSON, and a number. It runs in the environment of its own
requirements: `program.py MODEL PORT`, in a folder that it writes to."""

import os
import sys
from pathlib import Path

import bentoml
import numpy as np
import xgboost


@bentoml.service(workers=1, logging={"access": {"enabled": False}})
class Rows:
    def __init__(self) -> None:
        self._booster = xgboost.Booster({"nthread": 1})
        self._booster.load_model(os.environ["MODEL"])

    @bentoml.api  # type: ignore[untyped-decorator]  # the package is in that environment alone
    async def predict(self, row: list[float]) -> float:
        """Without a thread of its own: for so short a prediction it is the cheapest."""
        return float(self._booster.inplace_predict(np.array([row], np.float32))[0])


if __name__ == "__main__":
    model, port = sys.argv[1:]
    settings = {"MODEL": model, "BENTOML_HOME": os.getcwd(), "BENTOML_DO_NOT_TRACK": "true"}
    place = Path(__file__)
    served = [f"{place.stem}:Rows", "--working-dir", str(place.parent)]
    arguments = ["bentoml", "serve", *served, "--host", "127.0.0.1", "--port", port]
    os.execvpe("bentoml", arguments, {**os.environ, **settings})
