"""One XGBoost model in Triton's Python backend: it predicts all rows of a batch together."""

from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as triton
import xgboost


class TritonPythonModel:
    """Named so, and with these methods, for the backend."""

    def initialize(self, arguments: dict[str, str]) -> None:
        self._booster = xgboost.Booster({"nthread": 1})
        self._booster.load_model(Path(arguments["model_repository"], arguments["model_version"], "model.ubj"))

    def execute(self, requests: list[Any]) -> list[Any]:
        rows = [triton.get_input_tensor_by_name(request, "rows").as_numpy() for request in requests]
        said = self._booster.inplace_predict(np.concatenate(rows)).reshape(-1, 1)
        parts = np.split(said, np.cumsum([len(part) for part in rows[:-1]]))
        return [triton.InferenceResponse([triton.Tensor("said", part)]) for part in parts]
