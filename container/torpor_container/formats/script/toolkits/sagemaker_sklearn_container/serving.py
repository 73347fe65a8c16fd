"""The image's default functions, for scripts that extend them."""

from typing import Any

import numpy as np
from sagemaker_containers.beta.framework import (
    content_types,
    encoders,
    transformer,
    worker,
)


def default_model_fn(model_dir: str) -> Any:
    return transformer.default_model_fn(model_dir)


def default_input_fn(input_data: Any, content_type: str) -> Any:
    """Numbers; text types as 32 bit floats. Raises UnsupportedFormatError."""
    array = encoders.decode(input_data, content_type)
    return array.astype(np.float32) if content_type in content_types.UTF8_TYPES else array


def default_predict_fn(input_data: Any, model: Any) -> Any:
    return model.predict(input_data)


def default_output_fn(prediction: Any, accept: str) -> Any:
    """Raises UnsupportedFormatError."""
    return worker.Response(encoders.encode(prediction, accept), mimetype=accept)
