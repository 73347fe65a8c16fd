"""The image's default functions on a multi-model endpoint, and its service for Multi Model Server."""

from typing import Any

import numpy as np
from sagemaker_containers.beta.framework import encoders
from sagemaker_inference import content_types
from sagemaker_inference.default_handler_service import DefaultHandlerService
from sagemaker_inference.default_inference_handler import DefaultInferenceHandler
from sagemaker_inference.transformer import Transformer


class HandlerService(DefaultHandlerService):  # type: ignore[misc]  # mypy does not see the stand-ins
    class DefaultSKLearnUserModuleInferenceHandler(DefaultInferenceHandler):  # type: ignore[misc]  # as above
        def default_input_fn(self, input_data: Any, content_type: str, context: Any = None) -> Any:
            """Numbers; text types as 32 bit floats. Raises UnsupportedFormatError."""
            array = encoders.decode(input_data, content_type)
            return array.astype(np.float32) if content_type in content_types.UTF8_TYPES else array

        def default_predict_fn(self, data: Any, model: Any, context: Any = None) -> Any:
            return model.predict(data)

        def default_output_fn(self, prediction: Any, accept: str, context: Any = None) -> Any:
            """Raises UnsupportedFormatError."""
            return encoders.encode(prediction, accept)

    def __init__(self) -> None:
        super().__init__(Transformer(default_inference_handler=self.DefaultSKLearnUserModuleInferenceHandler()))
