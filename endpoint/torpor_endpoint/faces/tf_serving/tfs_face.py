"""TensorFlow Serving's REST API: each prediction is one InvokeEndpoint, and so is each question about a model.

The JSON goes to the instance as it came: the model's format reads it there, and knows the types of the model's inputs.
"""

import json
from functools import partial
from urllib.parse import quote

from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Disconnected, Headers, Receive, Scope, Send, TakeInline, sent
from torpor_account.core.access.needs import AccessRefused
from torpor_container.core.protocols.protocol_types import METADATA, METHOD, MODEL_NAME, TF_SERVING
from torpor_endpoint.core.sending.machine import ACCEPT, CONTENT_TYPE
from torpor_endpoint.faces.choosing_endpoints import NoSuchEndpoint, NoSuchModel
from torpor_endpoint.faces.finding_models import FaceModels, FoundModel, NoSuchLabel, versions_of
from torpor_endpoint.faces.inline_inferences import InlineInference
from torpor_endpoint.faces.passage_calls import (
    AnswersInvocations,
    bodiless,
    drained,
    invocation_scope,
    is_compressed,
    nothing,
    passed,
    raw_path_of,
    sent_whole,
)
from torpor_endpoint.faces.tf_serving.tfs_answers import (
    JSON,
    answered,
    metadata_of,
    missing,
    refused,
    status_of,
)
from torpor_endpoint.faces.tf_serving.tfs_paths import Malformed, TfsAction, TfsCall, parsed
from torpor_endpoint.runtime.face_notes import FaceNote

FACE_NAME = "tf-serving"
INFERENCES = frozenset({TfsAction.PREDICT, TfsAction.CLASSIFY, TfsAction.REGRESS})


class TfServingFace:
    """An ASGI application."""

    def __init__(self, runtime: AnswersInvocations, models: FaceModels) -> None:
        self._runtime = runtime
        self._models = models

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(parsed(scope["method"], raw_path_of(scope)), scope, receive, send)
        except Disconnected:
            return
        except Malformed as malformed:
            await drained(scope, receive)
            await sent(refused(str(malformed), 400), send)
        except NoSuchEndpoint as unknown:
            await drained(scope, receive)
            await sent(refused(str(unknown), 404), send)
        except NoSuchLabel as unknown:
            await drained(scope, receive)
            await sent(refused(f"Unrecognized servable version label: {unknown}", 400), send)
        except AccessRefused as denied:
            await drained(scope, receive)
            await sent(refused(denied.message, 403), send)
        except AwsError as error:
            await sent(refused(error.message, error.status), send)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `aws.wire.asgi.Inline`: an inference of a model whose target is known. All else comes by ASGI."""
        try:
            call = parsed(scope["method"], raw_path_of(scope))
        except Malformed:
            return None
        if call.action not in INFERENCES or is_compressed(scope):
            return None
        asked = call.version or call.label
        way = partial(self._models.at_once, in_path=call.endpoint or None, model=call.model, version=asked)
        answer, roster = partial(answered, call), self._models.roster
        return InlineInference(self._runtime, FACE_NAME, roster, way, partial(_headers, call), answer).take

    async def _answer(self, call: TfsCall, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if call.action in INFERENCES:
                await self._infer(call, scope, receive, send)
            elif call.action is TfsAction.STATUS:
                found = await self._models.existing(scope, *_asked(call))
                given = [call.version] if call.version else versions_of(found.live, call.model)
                await sent(status_of(given), send)
            else:
                await self._metadata(call, scope, send)
        except NoSuchModel:
            text = f"Could not find any versions of model {call.model}"
            if call.version:
                text = f"Could not find version {call.version} of model {call.model}"
            await drained(scope, receive)
            await sent(refused(text if call.action is TfsAction.STATUS else missing(call), 404), send)

    async def _infer(self, call: TfsCall, scope: Scope, receive: Receive, send: Send) -> None:
        if is_compressed(scope):
            await drained(scope, receive)
            await sent(refused("the body is compressed, which this face does not read: send it plain", 415), send)
            return
        found = await self._models.found(scope, *_asked(call))
        note = FaceNote(FACE_NAME)
        inner = invocation_scope(scope, found.live.name, _headers(call, found), note)
        await sent_whole(answered(call, note, *await passed(self._runtime, inner, receive)), send)

    async def _metadata(self, call: TfsCall, scope: Scope, send: Send) -> None:
        found = await self._models.found(scope, *_asked(call))
        note = FaceNote(FACE_NAME)
        headers = [*found.headers, (CONTENT_TYPE, f"{METADATA};{MODEL_NAME}={quote(call.model, safe='')}".encode())]
        inner = invocation_scope(bodiless(scope), found.live.name, headers, note)
        status, answer_headers, body = answered(call, note, *await passed(self._runtime, inner, nothing))
        await sent_whole((status, answer_headers, metadata_of(call, json.loads(body)) if status == 200 else body), send)


def _asked(call: TfsCall) -> tuple[str | None, str, str]:
    """The endpoint, the model, and the version or label."""
    return call.endpoint or None, call.model, call.version or call.label


def _headers(call: TfsCall, found: FoundModel) -> Headers:
    kind = f"{TF_SERVING};{METHOD}={call.action};{MODEL_NAME}={quote(call.model, safe='')}"
    return [*found.headers, (CONTENT_TYPE, kind.encode()), (ACCEPT, JSON.encode())]
