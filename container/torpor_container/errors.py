"""The errors of an instance, and the answer of each. Code raises an error where it knows the fault.

    ContainerError
    ├── CallerFault                 the request is at fault
    │   ├── NoContent               204
    │   ├── BadInput                400
    │   ├── NotSupported            405
    │   ├── NotAcceptable           406
    │   ├── BodyTooLarge            413
    │   ├── UnsupportedContentType  415
    │   └── TargetMissing           400
    ├── ModelFault                  the model is at fault, while it predicts
    │   ├── PredictionFailed        500
    │   ├── OutOfMemory             507
    │   ├── NoAnswer                500
    │   ├── ModelDied               500, or 507 when it was killed as the kernel kills for memory
    │   │   └── NotCalled           as for the request that the process held
    │   └── TimedOut                500
    ├── LoadFault                   the artifact, or what it needs, is at fault
    │   ├── LoadFailed              500
    │   │   ├── UnknownFormat       500
    │   │   ├── AmbiguousArtifact   500
    │   │   ├── Quarantined         500
    │   │   └── LoadTimedOut        500
    │   ├── LoadOutOfMemory         507
    │   │   ├── QuarantinedForMemory 507
    │   │   └── NoMemoryNow         507
    │   └── NoRoom                  507
    ├── RegistryFault               the model is not where the caller thinks
    │   ├── ModelNotFound           404
    │   ├── ModelLost               500
    │   ├── ModelAbsent             404
    │   ├── AlreadyLoaded           409
    │   ├── NotReady                503
    │   └── StarvedTrial            503
    └── MachineFault                503, the machine is at fault: no disk, no descriptor
        └── DeviceLost              503

The body is Multi Model Server's, `{"code": 404, "type": "ModelNotFoundException", "message": "..."}`. Only that of
PredictionFailed is the message and the traceback as text, as the inference toolkit answers.
"""

import json
import os
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from errno import EAGAIN, EDQUOT, EIO, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC, EROFS, ESTALE
from typing import ClassVar, Self, TypeVar

from torpor_container.invocation import Reply
from torpor_container.wire import Fault

MACHINE_ERRORS = frozenset({EAGAIN, EDQUOT, EIO, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC, EROFS, ESTALE})
"""The system's errors that are the machine's: no model and no caller can help it, and the next load may succeed."""
KILLED_EXITS = frozenset({-9, 137})
"""Exit codes of SIGKILL. Multi Model Server takes 137 for the kernel's out-of-memory killer and answers 507."""


class ContainerError(Exception):
    """Any error of an instance. `fault` is set where the answer is the platform's and not the model's."""

    status: int = 500
    type: ClassVar[str] = "InternalServerException"
    fault: ClassVar[Fault | None] = None

    def reply(self) -> Reply:
        """The wire form."""
        body = {"code": self.status, "type": self.type, "message": str(self)}
        return Reply(json.dumps(body).encode(), "application/json", self.status)


E = TypeVar("E", bound=ContainerError)
OWN = os.path.dirname(__file__) + os.sep, "<frozen importlib."
"""So begin the files of this package's frames, and of Python's own that import a script."""


def text_of(error: BaseException) -> str:
    """The text of an exception of foreign code, whose own `__str__` may raise."""
    return str(traceback.TracebackException(type(error), error, None))


def traceback_of(error: BaseException) -> str:
    """The traceback of an exception of foreign code from the first frame of that code: those before it take the
    place of the others in a message that is cut off. Whole if no frame is of that code; without a frame if that code is
    no Python, whose line the end shows."""
    whole = traceback.TracebackException.from_exception(error)
    chain = [whole]
    while chain:
        one = chain.pop()
        foreign = (place for place, frame in enumerate(one.stack) if not frame.filename.startswith(OWN))
        unread = len(one.stack) if issubclass(one.exc_type or BaseException, SyntaxError) else 0
        del one.stack[: next(foreign, unread)]
        chain += [also for also in (one.__cause__, one.__context__, *(one.exceptions or ())) if also is not None]
    return "".join(whole.format())


def bare(error: E) -> E:
    """The error without its traceback, whose frames hold bodies, inputs and predictions."""
    for earlier in (error.__cause__, error.__context__):
        if earlier is not None:
            earlier.__traceback__ = None  # a cache may still hold the error itself
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error


# -- the caller's ------------------------------------------------------------------------------------------------------
class CallerFault(ContainerError):
    """The request is at fault."""

    status = 400
    type = "BadRequestException"


class BadInput(CallerFault):
    """The model cannot take the body: it is empty, of another type, or has wrong columns."""

    is_read = False
    """Whether the body is of its content type, so that only the model refuses its rows."""

    @classmethod
    def of_rows(cls, message: str) -> Self:
        """The rows could be read, but do not fit the model."""
        error = cls(message)
        error.is_read = True
        return error


class NoContent(CallerFault):
    """The body is empty. AWS's XGBoost container answers that with no content, and without an error."""

    status = 204

    def reply(self) -> Reply:
        return Reply(b"", "text/html; charset=utf-8", self.status)  # Flask's type, as that container answers


class NotAcceptable(CallerFault):
    status = 406
    type = "NotAcceptableException"

    @classmethod
    def of(cls, accept: str, offered: Iterable[str]) -> Self:
        return cls(f"Accept type {accept} is not supported. Please use supported accept types: {', '.join(offered)}.")


class UnsupportedContentType(CallerFault):
    status = 415
    type = "UnsupportedMediaTypeException"

    @classmethod
    def of(cls, content_type: str, known: Iterable[str]) -> Self:
        return cls(f"{content_type} is not an accepted ContentType: {', '.join(known)}.")


class BodyTooLarge(CallerFault):
    status = 413
    type = "RequestEntityTooLargeException"

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"the body has {size_bytes} bytes, and {limit_bytes} is the limit "
            "(TORPOR_BODY_MAX_BYTES, or MAX_CONTENT_LENGTH)"
        )


class NotSupported(CallerFault):
    """The mode of this instance does not have the operation."""

    status = 405
    type = "MethodNotAllowedException"


class TargetMissing(CallerFault):
    fault = Fault.TARGET_MISSING

    def __init__(self) -> None:
        super().__init__("the request names no target model, and this instance serves many")


# -- the model's, at invoke --------------------------------------------------------------------------------------------
class ModelFault(ContainerError):
    """The model is at fault, while it predicts."""


class PredictionFailed(ModelFault):
    """The model, or the user's script, raised an exception."""

    @classmethod
    def because(cls, error: BaseException) -> Self:
        return cls(f"{text_of(error)}\n{traceback_of(error)}")

    def reply(self) -> Reply:
        return Reply(str(self).encode(errors="backslashreplace"), "text/plain; charset=utf-8", self.status)


class OutOfMemory(ModelFault):
    status = 507
    type = "InsufficientMemoryException"


class ContainerGone(ModelFault):
    """A foreign container broke its connection, or answered something that is not HTTP."""

    fault = Fault.MODEL_DIED


class ModelDied(ModelFault):
    """The model's own process ended while it held the request."""

    fault = Fault.MODEL_DIED

    def __init__(self, exit_code: int | None, reason: str = "") -> None:
        """`exit_code` is None if the instance ended the process; `reason` says why."""
        super().__init__(f"the model's process ended: {reason or f'exit code {exit_code}'}")
        self.exit_code = exit_code
        self.status = 507 if exit_code in KILLED_EXITS else 500


class NotCalled(ModelDied):
    """The model's own process had ended before it read the request: another process may serve it."""


class TimedOut(ModelFault):
    fault = Fault.TIMED_OUT

    def __init__(self, timeout_s: float) -> None:
        super().__init__(f"the model did not answer within {timeout_s:g} s")


# -- at load -----------------------------------------------------------------------------------------------------------
class LoadFault(ContainerError):
    """The artifact, or what it needs, is at fault."""

    fault = Fault.LOAD_FAILED


class LoadFailed(LoadFault):
    """The model's own file or code failed to load; the message is the reason."""


class UnknownFormat(LoadFailed):
    @classmethod
    def of(cls, found: Iterable[str], known: Iterable[str], misplaced: str = "") -> Self:
        """`misplaced`: a sentence on a model that lies where none is looked for."""
        lacks = f"no model file of a known format ({', '.join(known)}) among: {', '.join(found) or 'no files'}"
        return cls(f"{lacks}. {misplaced}" if misplaced else lacks)


class AmbiguousArtifact(LoadFailed):
    @classmethod
    def of(cls, files: Iterable[str]) -> Self:
        return cls(f"several model files in one artifact: {', '.join(files)}. Keep one, or add inference.py")


class Quarantined(LoadFailed):
    """This version of the artifact ended a process, hung, or took too much: a load needs another version."""

    @classmethod
    def because(cls, reason: str, final: bool) -> Self:
        """`final`: no trial of the same version ends the quarantine."""
        again = "" if final else ". After `torpor reload` it tries this one again"
        return cls(
            f"{reason}. This version of the artifact is quarantined: upload another one, and Torpor tries it{again}"
        )


class LoadTimedOut(LoadFailed):
    def __init__(self, name: str, timeout_s: float) -> None:
        super().__init__(f"{name} did not load within {timeout_s:g} s")


class LoadOutOfMemory(LoadFault):
    status = 507
    type = "InsufficientMemoryException"
    fault = Fault.NO_ROOM


class QuarantinedForMemory(LoadOutOfMemory):
    """This version of the artifact takes too much memory: a load needs another version, or more memory."""

    @classmethod
    def because(cls, reason: str) -> Self:
        return cls(
            f"{reason}. This version of the artifact is quarantined: upload another one, "
            "or give the instance more memory, and Torpor tries it"
        )


class NoMemoryNow(LoadOutOfMemory):
    """There may be enough memory once another model has left."""


class NoRoom(LoadFault):
    """The model can never fit in this instance's memory or on its disk."""

    status = 507
    type = "InsufficientMemoryException"
    fault = Fault.NO_ROOM


# -- where the model is ------------------------------------------------------------------------------------------------
class RegistryFault(ContainerError):
    """The model is not where the caller thinks."""


class ModelNotFound(RegistryFault):
    status = 404
    type = "ModelNotFoundException"

    def __init__(self, name: str, where: str = "") -> None:
        """`where` is what was searched, if not the loaded models."""
        super().__init__(f"Model not found{f' in {where}' if where else ''}: {name}")


class ModelLost(RegistryFault):
    """A foreign container unloaded a model by itself. The model was not called."""

    fault = Fault.MODEL_DIED

    def __init__(self, name: str) -> None:
        super().__init__(f"the container no longer has the model {name}")


class ModelAbsent(RegistryFault):
    """The model is not in memory, and the request may not load it."""

    status = 404
    type = "ModelNotFoundException"
    fault = Fault.ABSENT

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not in memory, and the request is not to load it")


class AlreadyLoaded(RegistryFault):
    status = 409
    type = "ConflictStatusException"

    def __init__(self, name: str) -> None:
        super().__init__(f"Model {name} is already registered.")


class NotReady(RegistryFault):
    """The model was still downloading or loading when the caller's time was up. The load goes on."""

    status = 503
    type = "ServiceUnavailableException"
    fault = Fault.NOT_READY

    def __init__(self, name: str, waited_s: float) -> None:
        super().__init__(f"{name} is still downloading or loading after {waited_s:g} s")


class StarvedTrial(RegistryFault):
    """The model's trial took too long, and got little processor time: it is tried again on a quiet machine."""

    status = 503
    type = "ServiceUnavailableException"
    fault = Fault.NOT_READY

    @classmethod
    def because(cls, reason: str) -> Self:
        return cls(
            f"{reason}, on a busy machine. Torpor tries this version again once the machine is less busy, or after "
            "`torpor reload`"
        )


# -- the machine -------------------------------------------------------------------------------------------------------
class MachineFault(ContainerError):
    """The machine is at fault, and no model: its disk is full, or it has no descriptor left."""

    status = 503
    type = "MachineException"
    fault = Fault.MACHINE_FAILED


class DeviceLost(MachineFault):
    """The device that the model predicts on is gone, or refuses all work of this process: another instance replaces
    this one."""

    @classmethod
    def because(cls, device: str, said: str) -> Self:
        return cls(f"the device {device} is lost: {said}. Another instance takes over: try again.")


@contextmanager
def machine_faults() -> Iterator[None]:
    """Raise the system's errors that are the machine's as MachineFault."""
    try:
        yield
    except OSError as error:
        if error.errno not in MACHINE_ERRORS:
            raise
        raise MachineFault(f"The instance's machine failed the load: {error.strerror or error}. Try again.") from error
