"""The toolkit's default functions."""

from typing import Any

from sagemaker_containers import _encoders, _worker


def default_model_fn(model_dir: str) -> Any:
    raise NotImplementedError("Please provide a model_fn implementation.")


def default_input_fn(input_data: Any, content_type: str) -> Any:
    return _encoders.decode(input_data, content_type)


def default_predict_fn(data: Any, model: Any) -> Any:
    raise NotImplementedError("Please provide a predict_fn implementation.")


def default_output_fn(prediction: Any, accept: str) -> _worker.Response:
    return _worker.Response(response=_encoders.encode(prediction, accept), mimetype=accept)
