"""A user script's functions, with the inference toolkit's signatures, and its defaults for those that are missing.

    pre_model_fn(model_dir)                             default: nothing, before the model is loaded
    model_fn(model_dir)                                 default: the model file beside the script
    model_warmup_fn(model_dir, model)                   default: nothing, once it is
    input_fn(body, content_type)                        default: rows as a numpy array
    predict_fn(data, model)                             default: the model's predict
    output_fn(prediction, accept)                       default: encoded as accepted; may return (body, type)
    transform_fn(model, body, content_type, accept)     in place of the last three

Each may take one argument more, the toolkit's `context` (`script.context`).
"""

import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from torpor_container.content.media import CSV, JSON
from torpor_container.content.plain import Unwritable
from torpor_container.errors import BadInput, LoadFailed, PredictionFailed
from torpor_container.formats.script import PACKAGE
from torpor_container.formats.script.context import Context

NAMES = ("pre_model_fn", "model_fn", "model_warmup_fn", "input_fn", "predict_fn", "output_fn", "transform_fn")
TEXT_TYPES = (JSON, CSV)
ERROR_STATUSES = range(400, 600)
Function = Callable[..., Any]


class Text(str):
    """A body of a text type. The toolkit passes `str` to scripts, the framework containers `bytes`: this is both."""

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return str(self)


@dataclass(frozen=True)
class Functions:
    """The functions that the script defines; None for the others."""

    pre_model_fn: Function | None
    model_fn: Function | None
    model_warmup_fn: Function | None
    input_fn: Function | None
    predict_fn: Function | None
    output_fn: Function | None
    transform_fn: Function | None
    context: Context

    @classmethod
    def of(cls, module: ModuleType, directory: Path) -> "Functions":
        """The functions of a module. Raises LoadFailed for transform_fn beside one of those that it replaces."""
        found = {name: getattr(module, name, None) for name in NAMES}
        if found["transform_fn"] and (found["input_fn"] or found["predict_fn"] or found["output_fn"]):
            raise LoadFailed(
                "Cannot use transform_fn implementation in conjunction with "
                "input_fn, predict_fn, and/or output_fn implementation"
            )
        return cls(**found, context=Context(directory))

    @property
    def only_loads(self) -> bool:
        """Whether the script has no function after model_fn."""
        return not (self.input_fn or self.predict_fn or self.output_fn or self.transform_fn)

    def call(self, function: Function, *arguments: Any) -> Any:
        """Call a function, with the context if it takes one more argument."""
        if len(signature(function).parameters) == len(arguments) + 1:
            return function(*arguments, self.context)
        return function(*arguments)


def import_script(path: Path, root: Path | None = None) -> ModuleType:
    """Import the script under its own name. Its folder, and `root` if modules are there too, come first on the path.

    Raises whatever the script raises.
    """
    package = path.name == PACKAGE
    name = path.parent.name if package else path.stem
    folder = path.parent.parent if package else path.parent
    sys.path[:0] = dict.fromkeys(map(str, (folder, root or folder)))
    spec = importlib.util.spec_from_file_location(
        name, path, submodule_search_locations=[str(path.parent)] if package else None
    )
    if spec is None or spec.loader is None:
        raise LoadFailed(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickles and the script's modules find its classes by this name
    spec.loader.exec_module(module)
    return module


def body_of(body: bytes, content_type: str) -> Any:
    """The body for a script: decoded for text types, here also for those with parameters. Raises BadInput."""
    if content_type.partition(";")[0].strip().lower() not in TEXT_TYPES:
        return body
    try:
        return Text(body, "utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"the body is not UTF-8: {error}") from None


def failure_of(error: Exception) -> PredictionFailed:
    """The answer to an exception of the script, as in the toolkit's `handle_error`.

    The toolkit's own errors (`sagemaker_inference.errors`, known by their attributes) have a status and a message.
    """
    if isinstance(error, Unwritable):
        return PredictionFailed(str(error))
    status, message = getattr(error, "status_code", None), getattr(error, "message", None)
    if not isinstance(status, int) or status not in ERROR_STATUSES or not hasattr(error, "phrase"):
        return PredictionFailed.because(error)
    failure = PredictionFailed(f"{message}\n{''.join(traceback.format_exception(error))}")
    failure.status = int(status)
    return failure
