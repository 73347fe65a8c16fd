"""The image's default functions on a multi-model endpoint, and its service for Multi Model Server."""

from typing import Any

from sagemaker_containers.beta.framework import encoders
from sagemaker_inference import content_types
from sagemaker_inference.default_handler_service import DefaultHandlerService
from sagemaker_inference.default_inference_handler import DefaultInferenceHandler
from sagemaker_inference.transformer import Transformer
from sagemaker_xgboost_container import encoder as xgb_encoders


class HandlerService(DefaultHandlerService):  # type: ignore[misc]  # mypy does not see the stand-ins
    class DefaultXGBoostUserModuleInferenceHandler(DefaultInferenceHandler):  # type: ignore[misc]  # as above
        def default_input_fn(self, input_data: Any, content_type: str, context: Any = None) -> Any:
            """A DMatrix. Raises UnsupportedFormatError."""
            return xgb_encoders.decode(input_data, content_type)

        def default_predict_fn(self, data: Any, model: Any, context: Any = None) -> Any:
            return model.predict(data, validate_features=False)

        def default_output_fn(self, prediction: Any, accept: str, context: Any = None) -> Any:
            """Raises UnsupportedFormatError."""
            encoded = encoders.encode(prediction, accept)
            return encoded.encode("utf-8") if accept == content_types.CSV else encoded

    def __init__(self) -> None:
        super().__init__(Transformer(default_inference_handler=self.DefaultXGBoostUserModuleInferenceHandler()))
