"""Serves a loaded model of any framework in three steps: read the body, predict, write the answer.

Only this module turns the exceptions of frameworks into the container's errors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from torpor_container.content import Answers, RowLayout
from torpor_container.content.plain import Unwritable
from torpor_container.errors import (
    BadInput,
    ContainerError,
    MachineFault,
    NotAcceptable,
    OutOfMemory,
    PredictionFailed,
    UnsupportedContentType,
    bare,
)
from torpor_container.formats.format import Mapped
from torpor_container.formats.frameworks import said_by
from torpor_container.formats.protocols import named_tensors
from torpor_container.formats.protocols.named_tensors import TensorInputs
from torpor_container.invocation import Invocation, Reply
from torpor_container.processes.memory import no_memory

Inputs = TypeVar("Inputs")

VENDOR = "application/vnd."
"""How the content types of the protocols begin that are no content types of rows."""
VENDOR_CHARS = len(VENDOR)


def _on_this_thread(work: Callable[[], None]) -> None:
    work()


@dataclass(slots=True)
class ServedModel(Generic[Inputs]):
    """`native` is the framework's own object. `refusals` are the exceptions that it raises when the rows are at fault.

    The inputs of a `rowwise` model are arrays of rows, and its predictions have a row for each.
    """

    format: str
    native: Any
    read: Callable[[Invocation], Inputs]
    predict: Callable[[Inputs], Any]
    answers: Answers
    refusals: tuple[type[Exception], ...] = ()
    faults: tuple[type[Exception], ...] = ()
    """Those among the refusals by which the model is at fault, whatever the rows are."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Content types of answers that are not simply their media type, by that."""
    layout: RowLayout | None = None
    """The rows that `read` makes, if they are an array or a sparse matrix."""
    rowwise: bool = False
    foreign: bool = False
    freed: Callable[[Callable[[], None]], object] = _on_this_thread
    """Runs the function that frees the framework's object, on the thread that must do it."""
    note: str = ""
    """What a person should know of how the model was loaded, for `torpor why`."""
    mapped: Mapped | None = None
    tensors: TensorInputs | None = None
    """How it takes named tensors, where that is not as rows of its layout."""

    def invoke(self, invocation: Invocation) -> Reply:
        """Answer one request. Body, inputs and answer may be large: each is released once the next one is made.

        Raises BadInput, UnsupportedContentType, NotAcceptable, PredictionFailed, OutOfMemory, all without traceback:
        code that keeps an error would keep the frames, and what they hold.
        """
        try:
            return self._answer(invocation)
        except ContainerError as error:
            fault = bare(error)
        try:
            raise fault
        finally:
            del fault

    def _answer(self, invocation: Invocation) -> Reply:
        exchange = None
        if invocation.content_type[:VENDOR_CHARS] == VENDOR:
            if (described := self._described(invocation)) is not None:
                return described
            exchange = named_tensors.TensorExchange(self._tensor_inputs())
        kind = self.answers.choose(invocation.accept) if exchange is None else ""
        try:
            inputs = self.read(invocation) if exchange is None else exchange.read(invocation)
        except ContainerError:
            raise
        except MemoryError as error:
            raise OutOfMemory(f"out of memory while reading the body: {error}") from error
        except Exception as error:  # parsers meet arbitrary bytes, and may raise anything: the body is at fault
            raise BadInput(f"the body cannot be read: {said_by(error)}") from error
        invocation.body = b""
        try:
            prediction = self.predict(inputs)
            del inputs
        except MemoryError as error:
            raise OutOfMemory(f"out of memory while predicting: {error}") from error
        except MachineFault:  # the device is lost: neither rows nor model are at fault
            raise
        except self.refusals as error:
            if no_memory(error):
                raise OutOfMemory("out of memory while predicting") from error
            if isinstance(error, self.faults):
                raise PredictionFailed.because(error) from error
            raise BadInput(f"the model refuses the rows: {said_by(error)}") from error
        except BaseException as error:  # a model may raise anything, even SystemExit: the model is at fault
            if no_memory(error):
                raise OutOfMemory("out of memory while predicting") from error
            raise PredictionFailed.because(error) from error
        try:
            if exchange is not None:
                return exchange.reply(prediction)
            return Reply(self.answers.encode(prediction, kind), self.types.get(kind, kind))
        except ContainerError:
            raise
        except Unwritable as error:
            raise (NotAcceptable if error.elsewhere else PredictionFailed)(str(error)) from None
        except MemoryError as error:
            raise OutOfMemory(f"out of memory while writing the answer: {error}") from error
        except BaseException as error:  # whatever a prediction raises as it is written, the model is at fault
            raise PredictionFailed.because(error) from error

    def invoke_together(self, invocations: Sequence[Invocation]) -> list[Reply | Exception]:
        """Answer several requests with one prediction. If anything fails, predict for each alone."""
        try:
            for one in invocations:
                if one.content_type[:VENDOR_CHARS] == VENDOR:
                    return self._exchanged_together(invocations)
            kinds = [self.answers.choose(invocation.accept) for invocation in invocations]
            rows: list[Any] = [self.read(invocation) for invocation in invocations]
            joined: Any = np.concatenate(rows)
            predictions = np.split(self.predict(joined), np.cumsum([len(one) for one in rows[:-1]]))
            encoded = map(self.answers.encode, predictions, kinds)
            return [Reply(body, self.types.get(kind, kind)) for body, kind in zip(encoded, kinds, strict=True)]
        except BaseException:  # noqa: BLE001  a model may raise anything: the single predictions raise it again
            return [self._outcome(invocation) for invocation in invocations]

    def _exchanged_together(self, invocations: Sequence[Invocation]) -> list[Reply | Exception]:
        """As `invoke_together`, with requests of the protocols among others. Raises what any of them raises."""
        inputs = self._tensor_inputs()
        replies: list[Callable[[Any], Reply]] = []
        rows: list[Any] = []
        for one in invocations:
            if one.content_type[:VENDOR_CHARS] != VENDOR:
                replies.append(partial(self._encoded, self.answers.choose(one.accept)))
                rows.append(self.read(one))
                continue
            if named_tensors.is_metadata(one.content_type):
                raise ValueError("a question about the model predicts nothing")
            exchange = named_tensors.TensorExchange(inputs)
            replies.append(exchange.reply)
            rows.append(exchange.read(one))
        joined: Any = np.concatenate(rows)
        predictions = np.split(self.predict(joined), np.cumsum([len(one) for one in rows[:-1]]))
        return [reply(prediction) for reply, prediction in zip(replies, predictions, strict=True)]

    def _encoded(self, kind: str, prediction: Any) -> Reply:
        return Reply(self.answers.encode(prediction, kind), self.types.get(kind, kind))

    def _tensor_inputs(self) -> TensorInputs:
        if self.tensors is not None:
            return self.tensors
        if self.layout is None:
            raise UnsupportedContentType(f"a {self.format} model of this kind takes no named tensors")
        return named_tensors.of_layout(self.layout, self.predict)

    def _described(self, invocation: Invocation) -> Reply | None:
        """The answer to a question about the model; None for a request that is none. Raises UnsupportedContentType."""
        if not named_tensors.is_metadata(invocation.content_type):
            return None
        return named_tensors.metadata(invocation, self._tensor_inputs(), self.format)

    def _outcome(self, invocation: Invocation) -> Reply | Exception:
        try:
            return self.invoke(invocation)
        except ContainerError as error:
            return error

    def give_way(self, other: "ServedModel[Inputs]") -> None:
        last: list[Any] = [self.native, self.predict, self.tensors]
        self.tensors = other.tensors
        self.refusals, self.faults = (*self.refusals, *other.refusals), (*self.faults, *other.faults)
        self.native, self.predict = None, lambda inputs: other.predict(inputs)  # as long as that one has not left too
        self.freed(last.clear)

    def close(self) -> None:
        """Free the framework's object, even if this one is still referenced."""
        last: list[Any] = [self.native, self.predict, self.read, self.layout, self.tensors]
        self.native, self.predict, self.read, self.layout, self.tensors = None, _closed, _unread, None, None
        self.freed(last.clear)


def _unread(call: Invocation) -> NoReturn:
    raise PredictionFailed.because(RuntimeError("the model was unloaded"))


def _closed(inputs: object) -> NoReturn:
    raise RuntimeError("the model was unloaded")
