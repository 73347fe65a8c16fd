"""The toolkit's chain of functions, with a handler's defaults. It has the handler and no user module."""

from inspect import signature
from typing import Any

from sagemaker_inference import content_types, environment, utils
from sagemaker_inference.default_inference_handler import DefaultInferenceHandler


class Transformer:
    def __init__(self, default_inference_handler: Any = None) -> None:
        self._default_inference_handler = default_inference_handler or DefaultInferenceHandler()
        self._model: Any = None
        self._initialized = False
        self._context: Any = None

    def validate_and_initialize(self, model_dir: str | None = environment.model_dir, context: Any = None) -> None:
        if not self._initialized:
            self._context = context
            self._model = self._run(self._default_inference_handler.default_model_fn, model_dir)
            self._initialized = True

    def transform(self, data: Any, context: Any) -> list[Any]:
        """One answer for each entry of a batch. Whatever the handler raises is raised."""
        self.validate_and_initialize(context.system_properties.get("model_dir"), context)
        handler, properties = self._default_inference_handler, context.request_processor[0].get_request_properties()
        content_type = utils.retrieve_content_type_header(properties) or content_types.JSON
        accept = properties.get("Accept") or properties.get("accept") or content_types.ANY
        if accept == content_types.ANY:
            accept = environment.Environment().default_accept
        answers = []
        for entry in data:
            body = entry.get("body")
            if content_type in content_types.UTF8_TYPES and isinstance(body, bytes):
                body = body.decode("utf-8")
            prediction = self._run(
                handler.default_predict_fn, self._run(handler.default_input_fn, body, content_type), self._model
            )
            answer = self._run(handler.default_output_fn, prediction, accept)
            answers.append(answer[0] if isinstance(answer, tuple) else answer)
        return answers

    def _run(self, function: Any, *arguments: Any) -> Any:
        if len(signature(function).parameters) == len(arguments) + 1:
            return function(*arguments, self._context)
        return function(*arguments)
