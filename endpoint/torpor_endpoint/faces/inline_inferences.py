"""Takes a face's inferences inline, as the runtime takes InvokeEndpoint: without a task, where nothing has to wait."""

from collections.abc import Callable
from functools import partial

from torpor_account.aws.wire.asgi import Headers, Scope, TakeInline, Tell
from torpor_endpoint.faces.finding_models import FoundModel
from torpor_endpoint.faces.passage_calls import AnswersInvocations, invocation_scope, telling
from torpor_endpoint.runtime.face_notes import FaceNote

Answered = Callable[[FaceNote, int, Headers, bytes], tuple[int, Headers, bytes]]
"""Turns the runtime's answer into the face's."""


class InlineInference:
    """Takes the inferences with one head. `way` finds the model anew each time, since endpoints change; `headers_for`
    makes the headers of its InvokeEndpoint."""

    def __init__(
        self,
        runtime: AnswersInvocations,
        face: str,
        way: Callable[[Scope], FoundModel | None],
        headers_for: Callable[[FoundModel], Headers],
        answered: Answered,
    ) -> None:
        self._runtime = runtime
        self._face = face
        self._way = way
        self._headers_for = headers_for
        self._answered = answered
        self._last: FoundModel | None = None
        self._headers: Headers = []
        self._take: TakeInline | None = None

    def take(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        """See `aws.wire.asgi.TakeInline`."""
        found = self._way(scope)
        if found is None:
            return False
        note = FaceNote(self._face)
        if found != self._last:
            self._headers, self._last = self._headers_for(found), found
            self._take = self._runtime.inline(invocation_scope(scope, found.live.name, self._headers, note))
        if self._take is None:
            return False
        inner = invocation_scope(scope, found.live.name, self._headers, note)
        return self._take(inner, body, telling(tell, partial(self._answered, note)))
