"""What a face and a request's passage tell each other: the face's name, and why the passage refused the request.

A face speaks another protocol than SageMaker's, and turns each of its requests into an InvokeEndpoint. The note goes
along in the scope, so that the books have the face's name and the face can say in its own words what went wrong.
"""

from torpor_account.aws.wire.asgi import Scope
from torpor_account.aws.wire.stream_framing import EVENT_STREAM, StreamFraming
from torpor_endpoint.runtime.errors import RuntimeFault

FACE = "torpor.face"
"""The key in a request's scope of its `FaceNote`; a request of InvokeEndpoint itself has none."""


ASKED_BY = "torpor.asked-by"
"""The key in a request's scope of the name of a face that asks another one, and that the books name in its place."""


class FaceNote:
    """One request of a face. `fault` is None while nothing has gone wrong; `framing` is that of a streamed answer."""

    __slots__ = ("face", "fault", "framing")

    def __init__(self, face: str, framing: StreamFraming = EVENT_STREAM) -> None:
        self.face = face
        self.framing = framing
        self.fault: RuntimeFault | None = None


def face_named(scope: Scope, otherwise: str) -> str:
    """The name of the face by which a request of a face came."""
    asked_by: str = scope.get(ASKED_BY, otherwise)
    return asked_by


def face_of(scope: Scope) -> str:
    """The name of the face by which a request came; empty for SageMaker's own."""
    note: FaceNote | None = scope.get(FACE)
    return "" if note is None else note.face


def framing_of(scope: Scope) -> StreamFraming:
    """How the parts of a streamed answer leave: as AWS's event stream, unless a face says otherwise."""
    note: FaceNote | None = scope.get(FACE)
    return EVENT_STREAM if note is None else note.framing
