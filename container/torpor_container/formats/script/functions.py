"""A user script's functions, with the inference toolkit's signatures, and its defaults for those that are missing.

    pre_model_fn(model_dir)                             default: nothing, before the model is loaded
    model_fn(model_dir)                                 default: the model file beside the script
    model_warmup_fn(model_dir, model)                   default: nothing, once it is
    input_fn(body, content_type)                        default: rows as a numpy array
    predict_fn(data, model)                             default: the model's predict
    output_fn(prediction, accept)                       default: encoded as accepted; may return (body, type)
    transform_fn(model, body, content_type, accept)     in place of the last three
    infer_fn(inputs, model)                             named tensors, by name (`script_tensors`); default: by JSON
    execution_parameters_fn()                           default: nothing; what to advise for transform jobs

Each but the last may take the toolkit's `context` (`script.handler_context`) too: see `with_context`.
"""

import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, isasyncgenfunction, iscoroutinefunction, signature
from pathlib import Path
from types import ModuleType
from typing import Any

from torpor_container.content.plain import Unwritable
from torpor_container.errors import LoadFailed, PredictionFailed, traceback_of
from torpor_container.formats.script import PACKAGE
from torpor_container.formats.script.handler_context import Context
from torpor_container.formats.script.script_images import TORPOR, ScriptImage
from torpor_container.formats.xgboost import older_versions

ARGUMENTS = {
    "pre_model_fn": 1,
    "model_fn": 1,
    "model_warmup_fn": 2,
    "input_fn": 2,
    "predict_fn": 2,
    "output_fn": 2,
    "transform_fn": 4,
    "infer_fn": 2,
    "execution_parameters_fn": 0,
}
"""The functions, and how many arguments each takes without the context."""
SERVICE = "handle"
CONTEXT = "context"
POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
ERROR_STATUSES = range(400, 600)
NATIVE_STACK = re.compile(r"\s*\nStack trace:\n(\s*\[bt\].*(\n|$))+")
Function = Callable[..., Any]


@dataclass(frozen=True)
class Functions:
    """The functions that the script defines, each with the context that it takes; None for the others."""

    pre_model_fn: Function | None
    model_fn: Function | None
    model_warmup_fn: Function | None
    input_fn: Function | None
    predict_fn: Function | None
    output_fn: Function | None
    transform_fn: Function | None
    infer_fn: Function | None
    execution_parameters_fn: Function | None
    context: Context

    @classmethod
    def of(cls, module: ModuleType, directory: Path, image: ScriptImage = TORPOR) -> "Functions":
        """The functions of a module. Raises LoadFailed for an async function, which nothing awaits, for transform_fn
        beside one of those that it replaces, and for a service of Multi Model Server."""
        found = {name: getattr(module, name, None) for name in ARGUMENTS}
        if callable(getattr(module, SERVICE, None)) and not any(found.values()):
            raise LoadFailed(
                f"{SERVICE} is a service of Multi Model Server, which nothing calls here: give the script model_fn and "
                "predict_fn, or run that server (docs/how-to/bring-a-container.md)"
            )
        for name, function in found.items():
            if iscoroutinefunction(function) or isasyncgenfunction(function):
                raise LoadFailed(
                    f"{name} is an async function, which nothing awaits, as in AWS's images: "
                    f"make it a plain one that calls asyncio.run"
                )
        if found["transform_fn"] and (found["input_fn"] or found["predict_fn"] or found["output_fn"]):
            raise LoadFailed(
                "Cannot use transform_fn implementation in conjunction with "
                "input_fn, predict_fn, and/or output_fn implementation"
            )
        context = Context(directory)
        bound = {
            name: function and with_context(function, ARGUMENTS[name], context, image)
            for name, function in found.items()
        }
        return cls(**bound, context=context)

    @property
    def only_loads(self) -> bool:
        """Whether the script has no function after model_fn."""
        return not (self.input_fn or self.predict_fn or self.output_fn or self.transform_fn or self.infer_fn)


def with_context(function: Function, arguments: int, context: Context, image: ScriptImage) -> Function:
    """The function, called with the context if a parameter is meant for it: one called `context`, or one more than its
    arguments that has no default of its own.

    The inference toolkit passes it to any one parameter more (so does `image.strict`), and AWS's images of one model to
    none: a parameter without a default would end its calls.
    """
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):  # a callable that does not say
        return function
    if image.strict and not image.flask:
        return _positional(function, context) if len(parameters) == arguments + 1 else function
    places = [parameter for parameter in parameters if parameter.kind in POSITIONAL]
    further = [*places[arguments:], *(one for one in parameters if one.kind is Parameter.KEYWORD_ONLY)]
    if any(one.name == CONTEXT and one.kind is not Parameter.POSITIONAL_ONLY for one in further):
        return partial(function, **{CONTEXT: context})
    own = {Parameter.empty} if image.flask else {Parameter.empty, None}
    if len(places) == arguments + 1 and any(places[-1].default is default for default in own):
        return _positional(function, context)
    return function


def _positional(function: Function, context: Context) -> Function:
    return lambda *arguments: function(*arguments, context)


def import_script(path: Path, root: Path | None = None) -> ModuleType:
    """Import the script under its own name. Its folder, and `root` if modules are there too, come first on the path.
    The arguments of the command line are the script alone, so that a script that parses them at its top finds none.

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
    sys.argv = [str(path)]
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickles and the script's modules find its classes by this name
    spec.loader.exec_module(module)
    return module


def account_of(error: BaseException) -> str:
    """An exception of a script with its traceback, as the toolkit tells it, but without the stack of a library in C++.
    What to do about a model of an old XGBoost comes first."""
    told = NATIVE_STACK.sub("", str(PredictionFailed.because(error)))
    hint = older_versions.hint(error)
    return f"{hint}\n{told}" if hint else told


def failure_of(error: BaseException) -> PredictionFailed:
    """The answer to an exception of the script, as in the toolkit's `handle_error`.

    The toolkit's own errors (`sagemaker_inference.errors`, known by their attributes) have a status and a message.
    """
    if isinstance(error, Unwritable):
        return PredictionFailed(str(error))
    status, message = getattr(error, "status_code", None), getattr(error, "message", None)
    if not isinstance(status, int) or status not in ERROR_STATUSES or not hasattr(error, "phrase"):
        return PredictionFailed(account_of(error))
    failure = PredictionFailed(f"{message}\n{traceback_of(error)}")
    failure.status = int(status)
    return failure
