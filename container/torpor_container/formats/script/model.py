"""Runs a loaded user script: its functions, and defaults for missing ones, on one request after another."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from torpor_container.content import RowLayout, decode
from torpor_container.content.answers import json_list
from torpor_container.content.media import JSON, LIBSVM, RECORDIO, media_type
from torpor_container.core.protocols.protocol_types import openai_path
from torpor_container.errors import BadInput, LoadFailed, PredictionFailed, UnknownFormat
from torpor_container.formats import FORMATS, SCRIPT, Conventions, detect, pickled
from torpor_container.formats.frameworks import is_xgboost_booster
from torpor_container.formats.protocols.openai_embeddings import in_openais_form
from torpor_container.formats.script import script_tensors
from torpor_container.formats.script.encodings.recordio_protobuf import NoRecords
from torpor_container.formats.script.functions import Functions, import_script
from torpor_container.formats.script.handler_context import RequestProcessor
from torpor_container.formats.script.part_sender import Streamed, in_parts
from torpor_container.formats.script.responses import unwrapped
from torpor_container.formats.script.script_images import image_of
from torpor_container.formats.script.script_tensors import are_for_script
from torpor_container.formats.script.socket_frames import STATUSES
from torpor_container.formats.served import ServedModel
from torpor_container.invocation import Invocation, Reply
from torpor_container.wire import CUSTOM_ATTRIBUTES, SESSION_ANSWERS

DEFAULT_ACCEPT = JSON
WITHOUT_BODY = (204, 205)
NOT_MODIFIED = 304
"""Statuses without a body: HTTP clients do not wait for one."""


class ScriptModel:
    """The script's functions, and the model that model_fn returned."""

    format = SCRIPT

    def __init__(
        self, functions: Functions, native: Any, default: ServedModel[Any] | None, conventions: Conventions
    ) -> None:
        """`native` is what model_fn returned; `default` serves it where the script has no function."""
        self._functions = functions
        self._native = native
        self._default = default
        self._conventions = conventions
        self._image = image_of(conventions)
        self._answers = self._image.answers(conventions.toolkit)
        self._uncounted = _uncounted(native, default)

    @classmethod
    def load(cls, script: Path, directory: Path, conventions: Conventions, root: Path | None = None) -> "ScriptModel":
        """Load a script. `root` is where its modules are, if not only beside it.

        Raises whatever the script raises, and LoadFailed and LoadOutOfMemory.
        """
        functions = Functions.of(import_script(script, root), directory, image_of(conventions))
        if functions.pre_model_fn:
            functions.pre_model_fn(str(directory))
        model = cls(functions, *_loaded(functions, directory, conventions), conventions)
        if functions.model_warmup_fn:
            functions.model_warmup_fn(str(directory), model._native)
        return model

    def invoke(self, invocation: Invocation) -> Reply | Streamed:
        """Answer a request: in parts if the script makes parts and the caller takes them.

        Raises whatever the script raises, and the errors of the defaults.
        """
        if invocation.asks_parameters:
            return self._parameters()
        if self._functions.only_loads and self._default is not None and not self._as_image_alone:
            return self._default.invoke(invocation)
        context = self._functions.context
        context.begin(_headers(invocation))
        if (path := openai_path(invocation.content_type)) is not None:
            return in_openais_form(path, invocation, self._in_parts)
        if are_for_script(invocation.content_type, self._functions.infer_fn):
            return script_tensors.answered(invocation, self._native, self._functions.infer_fn, self._whole)
        return self._in_parts(invocation)

    def _in_parts(self, invocation: Invocation) -> Reply | Streamed:
        """The answer by the script's functions, as it makes it and as the caller takes it."""
        answer = self._answer(invocation)
        if isinstance(answer, Streamed) and not invocation.streamed:
            answer = answer.joined()
        if isinstance(answer, Streamed):
            answer.head = self._checked(answer.head, is_whole=False)
            return answer
        return self._checked(answer)

    def _whole(self, invocation: Invocation) -> Reply:
        """The answer by the script's functions, in one part."""
        answer = self._answer(invocation)
        return self._checked(answer.joined() if isinstance(answer, Streamed) else answer)

    def _parameters(self) -> Reply:
        """What the script advises for transform jobs; 404 for nothing, as where AWS's image has no such route."""
        advises = self._functions.execution_parameters_fn if self._image.advises else None
        if advises is None:
            return Reply(b"", "", 404)
        self._functions.context.begin({})
        result = advises()
        answer = unwrapped(result, self._functions.context)
        reply = self._reply(answer, JSON, is_typed=answer is not result)
        return self._checked(reply.joined() if isinstance(reply, Streamed) else reply)

    def _checked(self, reply: Reply, is_whole: bool = True) -> Reply:
        """The answer with the status and custom attributes that the script has set. Raises PredictionFailed."""
        answered = self._functions.context.request_processor[0]
        attributes = answered.get_response_header(CUSTOM_ATTRIBUTES)
        _check_header("content type", reply.content_type)
        _check_header("custom attributes", attributes or "")
        status = _status(answered.get_response_status_code(), empty=not reply.body and is_whole)
        return reply._replace(custom_attributes=attributes, status=status, more=_sessions(answered))

    @property
    def _as_image_alone(self) -> bool:
        """Whether an image of AWS answers for a script that only loads a model."""
        return self._image.is_aws and not self._conventions.inference_output

    def close(self) -> None:
        """Nothing to do: the process ends with the script."""

    def _answer(self, invocation: Invocation) -> Reply | Streamed:
        accept = self._accept(invocation.accept)
        content_type = invocation.content_type or self._image.untyped
        if self._functions.transform_fn:
            body = self._image.body(invocation.body, content_type)
            result = self._functions.transform_fn(self._native, body, content_type, accept)
        else:
            invocation.content_type = content_type
            result = self._steps(invocation, accept)
        answer = unwrapped(result, self._functions.context)
        return self._reply(answer, accept, is_typed=answer is not result)

    def _steps(self, invocation: Invocation, accept: str) -> Any:
        functions, image = self._functions, self._image
        if functions.input_fn:
            prediction = self._predict(functions.input_fn(self._body(invocation), invocation.content_type))
        elif image.strict or (image.as_matrix and media_type(invocation.content_type) == RECORDIO):
            prediction = self._predict(self._read_as_image(invocation), as_image=True)
        elif functions.predict_fn or self._default is None:
            prediction = self._predict(self._read(invocation))
        else:
            rows = self._default.read(invocation)
            prediction = self._default.predict(image.rows(rows, invocation.content_type) if image.as_float32 else rows)
        if functions.output_fn:
            return functions.output_fn(prediction, accept)
        if image.strict:
            return _paired(image.default("output_fn")(prediction, accept), accept)
        prediction = in_parts(prediction)
        if isinstance(prediction, Streamed):  # no encoder takes it
            return prediction
        kind = self._answers.choose(accept)
        return self._answers.encode(prediction, kind), kind

    def _body(self, invocation: Invocation) -> Any:
        return self._image.body(invocation.body, invocation.content_type)

    def _read(self, invocation: Invocation) -> Any:
        """Rows for the script's predict_fn."""
        content_type = invocation.content_type
        if self._uncounted is not None and media_type(content_type) != LIBSVM:
            inputs = decode(invocation.body, content_type, self._uncounted)
        elif self._default is None:
            inputs = decode(invocation.body, content_type, RowLayout())
        else:
            inputs = self._default.read(invocation)
            inputs = getattr(inputs, "feed", inputs)  # an ONNX session's tensors, by name
        return self._image.rows(_as_taken_by(self._native, inputs), content_type)

    def _read_as_image(self, invocation: Invocation) -> Any:
        """What the image's own default input_fn makes of a body. Raises BadInput for records that are none, unless the
        image's own error is asked for."""
        try:
            return self._image.default("input_fn")(self._body(invocation), invocation.content_type)
        except NoRecords as error:
            if self._image.strict:
                raise
            raise BadInput(f"the body is not {RECORDIO}: {error}") from None

    def _predict(self, inputs: Any, as_image: bool = False) -> Any:
        if self._functions.predict_fn:
            return self._functions.predict_fn(inputs, self._native)
        if as_image or self._image.strict:
            return self._image.default("predict_fn")(inputs, self._native)
        if not callable(getattr(self._native, "predict", None)):
            raise PredictionFailed("Please provide a predict_fn implementation: the model has no predict method")
        return self._native.predict(_as_taken_by(self._native, inputs))

    def _reply(self, result: Any, accept: str, is_typed: bool) -> Reply | Streamed:
        """`is_typed`: the type is that of a response object, which stays as it is."""
        typed = isinstance(result, tuple) and self._image.is_pair(len(result)) and isinstance(result[1], str)
        body, named = result[:2] if typed else (result, accept)
        kind = named if is_typed else self._image.type_of(named, typed)
        body = in_parts(body)
        if isinstance(body, str):
            return Reply(body.encode(), kind)
        if isinstance(body, bytes | bytearray | memoryview):
            return Reply(bytes(body), kind)
        if isinstance(body, Streamed):
            body.head = Reply(b"", kind)
            return body
        if typed and (encoder := self._answers.encoders.get(media_type(named))):
            return Reply(encoder(body), kind)
        return Reply(json_list(body), JSON)

    def _accept(self, accept: str) -> str:
        """The accepted type, as in the toolkit: the caller's unchanged, or the default if there is none."""
        if accept and accept != "*/*":
            return accept
        return self._conventions.default_accept or DEFAULT_ACCEPT


def _headers(invocation: Invocation) -> dict[str, str]:
    """The headers that a script may read."""
    return {
        "Content-Type": invocation.content_type,
        "Accept": invocation.accept,
        CUSTOM_ATTRIBUTES: invocation.custom_attributes,
        **{name.decode(): value.decode() for name, value in invocation.headers},
    }


def _check_header(name: str, value: object) -> None:
    if not (isinstance(value, str) and value.isascii() and value.isprintable()):
        raise PredictionFailed(f"the script's {name} cannot be sent as a header: {value!r}")


def _sessions(answered: RequestProcessor) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of a session that the script began or ended."""
    found = {name: value for name in SESSION_ANSWERS if (value := answered.get_response_header(name)) is not None}
    for name, value in found.items():
        _check_header(name, value)
    return tuple((name.lower().encode(), value.encode()) for name, value in found.items())


def _loaded(functions: Functions, directory: Path, conventions: Conventions) -> tuple[Any, ServedModel[Any] | None]:
    """What model_fn returned, and what serves it where the script has no function."""
    # AWS's images answer differently with a script; a script that writes its answer selects its content too.
    selected = conventions.inference_output if functions.only_loads else ""
    scripted = replace(conventions, image="", inference_output=selected)
    if functions.model_fn is None:
        served = _load_beside(directory, conventions.image, scripted)
        native = served.native
        alone = isinstance(native, list) and len(native) == 1  # a booster, which could be one of several
        return native[0] if alone else native, served
    native = functions.model_fn(str(directory))
    return native, _served(native, scripted)


def _status(value: object, empty: bool) -> int:
    never = (NOT_MODIFIED,) if empty else (NOT_MODIFIED, *WITHOUT_BODY)
    if not isinstance(value, int) or value not in STATUSES or value in never:
        raise PredictionFailed(f"the script's status cannot be sent with an answer: {value!r}")
    return int(value)


def _load_beside(directory: Path, image: str, conventions: Conventions) -> ServedModel[Any]:
    try:
        known, path = detect(
            directory,
            formats=[one for one in FORMATS if one.name != SCRIPT],
            conventions=replace(conventions, image=image),
        )
    except UnknownFormat as error:
        raise UnknownFormat(f"Please provide a model_fn implementation: {error}") from None
    served = known.load(path, conventions)
    if not isinstance(served, ServedModel):
        raise LoadFailed(f"a {known.name} model needs a model_fn in the script beside it")
    return served


def _served(native: Any, conventions: Conventions) -> ServedModel[Any] | None:
    return pickled.adopt(native, conventions) if callable(getattr(native, "predict", None)) else None


def _uncounted(native: Any, default: ServedModel[Any] | None) -> RowLayout | None:
    """The layout of rows whose columns are not counted before predict_fn, which may add some to an array. It cannot to
    a matrix of XGBoost, which predicts without the columns that a row lacks: None for a booster."""
    if default is None or default.layout is None or is_xgboost_booster(native):
        return None
    return replace(default.layout, columns=None)


def _as_taken_by(native: Any, rows: Any) -> Any:
    """The rows as the model takes them. A booster takes only a DMatrix, as in SageMaker's XGBoost container."""
    if not (is_xgboost_booster(native) and hasattr(rows, "dtype")):
        return rows
    from xgboost import DMatrix

    return DMatrix(rows, nthread=1, feature_names=native.feature_names)  # in the order of the rows' columns


def _paired(result: Any, accept: str) -> Any:
    """A default's answer with its type, which Multi Model Server takes from Accept."""
    return (result, accept) if isinstance(result, str | bytes) else result
