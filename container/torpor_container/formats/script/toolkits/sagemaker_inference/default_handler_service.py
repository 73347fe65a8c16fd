"""The toolkit's service for Multi Model Server, to be extended. Torpor calls a script's functions and no service."""

from typing import Any

from sagemaker_inference.transformer import Transformer


class DefaultHandlerService:
    def __init__(self, transformer: Transformer | None = None) -> None:
        self._service = transformer or Transformer()

    def initialize(self, context: Any) -> None:
        self._service.validate_and_initialize(model_dir=context.system_properties.get("model_dir"), context=context)

    def handle(self, data: Any, context: Any) -> Any:
        return self._service.transform(data, context)
