"""A loaded model of any framework as three steps: read the body, predict, write the answer.

Here, and only here, what a framework raises becomes the container's errors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from torpor_container.content import Answers
from torpor_container.errors import BadInput, ContainerError, OutOfMemory, PredictionFailed, bare
from torpor_container.invocation import Invocation, Reply
from torpor_container.processes.memory import no_memory

Inputs = TypeVar("Inputs")


def _here(work: Callable[[], None]) -> None:
    work()


@dataclass(slots=True)
class ServedModel(Generic[Inputs]):
    """`native` is the framework's own object. `refusals` are what it raises where the caller's rows are at fault.

    The inputs of a `rowwise` model are arrays of rows, and its predictions have a row for each.
    """

    format: str
    native: Any
    read: Callable[[Invocation], Inputs]
    predict: Callable[[Inputs], Any]
    answers: Answers
    refusals: tuple[type[Exception], ...] = ()
    rowwise: bool = False
    foreign: bool = False
    freed: Callable[[Callable[[], None]], object] = _here
    """Calls what frees the framework's object, on whichever thread that has to happen."""
    note: str = ""
    """What is to be known of how the model was loaded, for `torpor why`."""

    def invoke(self, invocation: Invocation) -> Reply:
        """Body, inputs and answer may be large: each is let go of as soon as the next one is made of it.

        Raises BadInput, UnsupportedContentType, NotAcceptable, PredictionFailed, OutOfMemory: without the frames that
        hold them: code that keeps the error would keep the frames too.
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
        kind = self.answers.choose(invocation.accept)
        try:
            inputs = self.read(invocation)
        except ContainerError:
            raise
        except MemoryError as error:
            raise OutOfMemory(f"out of memory while reading the body: {error}") from error
        except Exception as error:
            raise BadInput(f"the body cannot be read: {_first_line(error)}") from error
        invocation.body = b""
        try:
            prediction = self.predict(inputs)
            del inputs
        except MemoryError as error:
            raise OutOfMemory(f"out of memory while predicting: {error}") from error
        except self.refusals as error:
            if no_memory(error):
                raise OutOfMemory("out of memory while predicting") from error
            raise BadInput(f"the model refuses the rows: {_first_line(error)}") from error
        except BaseException as error:  # a model may raise anything, even SystemExit, and it is its own fault
            if no_memory(error):
                raise OutOfMemory("out of memory while predicting") from error
            raise PredictionFailed.because(error) from error
        try:
            return Reply(self.answers.encode(prediction, kind), kind)
        except MemoryError as error:
            raise OutOfMemory(f"out of memory while writing the answer: {error}") from error
        except BaseException as error:  # a prediction that cannot be written is the model's fault, and never the rows'
            raise PredictionFailed.because(error) from error

    def invoke_together(self, invocations: Sequence[Invocation]) -> list[Reply | Exception]:
        """Where anything goes wrong each is predicted alone, so that it harms nobody but whose rows are at fault."""
        try:
            kinds = [self.answers.choose(invocation.accept) for invocation in invocations]
            rows: list[Any] = [self.read(invocation) for invocation in invocations]
            joined: Any = np.concatenate(rows)
            predictions = np.split(self.predict(joined), np.cumsum([len(one) for one in rows[:-1]]))
            encoded = map(self.answers.encode, predictions, kinds)
            return [Reply(body, kind) for body, kind in zip(encoded, kinds, strict=True)]
        except BaseException:  # noqa: BLE001  as above; what it was, and whose, is found by asking again
            return [self._outcome(invocation) for invocation in invocations]

    def _outcome(self, invocation: Invocation) -> Reply | Exception:
        try:
            return self.invoke(invocation)
        except ContainerError as error:
            return error

    def close(self) -> None:
        """Let go of the framework's object, whoever still holds this one."""
        last: list[Any] = [self.native, self.predict]
        self.native, self.predict = None, _closed
        self.freed(last.clear)


def _closed(inputs: object) -> NoReturn:
    raise RuntimeError("the model was unloaded")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
