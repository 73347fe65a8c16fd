"""The image's default functions for a script of one model."""

from typing import Any

from sagemaker_containers.beta.framework import encoders, transformer, worker
from sagemaker_xgboost_container import encoder as xgb_encoders


def default_model_fn(model_dir: str) -> Any:
    return transformer.default_model_fn(model_dir)


def default_input_fn(input_data: Any, content_type: str) -> Any:
    """A DMatrix. Raises UnsupportedFormatError."""
    return xgb_encoders.decode(input_data, content_type)


def default_predict_fn(input_data: Any, model: Any) -> Any:
    return model.predict(input_data, validate_features=False)


def default_output_fn(prediction: Any, accept: str) -> Any:
    """Raises UnsupportedFormatError."""
    return worker.Response(encoders.encode(prediction, accept), mimetype=accept)
