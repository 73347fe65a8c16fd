"""The toolkit's functions for a script that has none, to be extended."""

from typing import Any

from sagemaker_inference import decoder, encoder


class DefaultInferenceHandler:
    def default_model_fn(self, model_dir: str, context: Any = None) -> Any:
        raise NotImplementedError("Please provide a model_fn implementation.")

    def default_input_fn(self, input_data: Any, content_type: str, context: Any = None) -> Any:
        return decoder.decode(input_data, content_type)

    def default_predict_fn(self, data: Any, model: Any, context: Any = None) -> Any:
        raise NotImplementedError("Please provide a predict_fn implementation.")

    def default_output_fn(self, prediction: Any, accept: str, context: Any = None) -> Any:
        return encoder.encode(prediction, accept), accept
