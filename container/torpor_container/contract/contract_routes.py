"""The routes of the container contract without its invocations: health, models, and what an endpoint asks.

Where the contract leaves the words to a container, they are Multi Model Server's, as it answers in AWS's own images.
"""

import json
from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from torpor_container import wire
from torpor_container.contract.contract_requests import load_request, model_named, models_named, new_budget, page_start
from torpor_container.contract.control_means import NO_MEANS, ControlMeans
from torpor_container.contract.invocation_answers import answer_of, with_length
from torpor_container.contract.invocation_heads import InvocationHead
from torpor_container.errors import (
    ContainerError,
    ModelNotFound,
    NotSupported,
)
from torpor_container.invocation import Reply
from torpor_container.measuring.server_timing import Clock, Timing
from torpor_container.modes.contract_mode import ContractMode
from torpor_container.modes.kept_mode import KeptMode, Serving
from torpor_container.modes.model_reports import StateRequest
from torpor_container.modes.single_mode import Single

PAGE = 100
"""Models on one page of `GET /models`, as in AWS's own model server."""

WORKERS = {"runtime": "python", "minWorkers": 1, "maxWorkers": 1, "batchSize": 1, "loadedAtStartup": False}
WORKER = {"status": "READY", "gpu": False}
"""What Multi Model Server tells of a model in GetModel: ours has one worker, whatever its format."""


class Routes:
    """The routes of one instance."""

    def __init__(
        self,
        serving: Serving,
        state: Callable[[StateRequest], Awaitable[wire.InstanceStatus]],
        resize: Callable[[int], Awaitable[wire.MemoryChanged]],
        clock: Clock,
        means: ControlMeans = NO_MEANS,
    ) -> None:
        """`means` are those that an endpoint under test has: without them, there are no routes to them."""
        self._serving = serving
        self._means = means
        self._state = state
        self._resize = resize
        self._clock = clock

    def app(self, prefix: str, lifespan: Callable[[Starlette], object]) -> Starlette:
        """Their ASGI application; every path under `prefix`."""
        table = [
            Route(wire.PING, self.ping),
            Route(wire.MODELS, self.list_models, methods=["GET"]),
            Route(wire.MODELS, self.load_model, methods=["POST"]),
            Route(wire.MODELS + "/{name}", self.get_model, methods=["GET"]),
            Route(wire.MODELS + "/{name}", self.unload_model, methods=["DELETE"]),
            Route(wire.EXECUTION_PARAMETERS, self.execution_parameters),
            Route(wire.STATE, self.state),
            Route(wire.MEMORY, self.resize, methods=["POST"]),
            Route(wire.RELOAD_MODEL, self.reload, methods=["POST"]),
            Route(wire.UNLOAD_MODEL, self.unload, methods=["POST"]),
            Route(wire.LOAD_MODEL, self.load, methods=["POST"]),
            Route(wire.TIERS, self.tiers, methods=["POST"]),
            Route(wire.UPDATE_MODEL, self.update, methods=["POST"]),
            Route(wire.LOAD_ADAPTER, self.load_adapter, methods=["POST"]),
        ]
        table += self._means.routes(self._serving)
        routed = [Route(prefix + route.path, route.endpoint, methods=route.methods) for route in table]
        handlers = {ContainerError: _container_error}
        return Starlette(routes=routed, exception_handlers=handlers, lifespan=lifespan)  # type: ignore[arg-type]

    # -- health ----------------------------------------------------------------------------------------------------
    async def ping(self, request: Request) -> Response:
        reason = self._serving.unready()
        if reason is None:
            return JSONResponse({"status": "Healthy"})
        return JSONResponse({"status": "Unhealthy", "reason": reason}, status_code=503)

    async def state(self, request: Request) -> Response:
        return JSONResponse(await self._state(StateRequest.read(request.query_params)))

    async def resize(self, request: Request) -> Response:
        return JSONResponse(await self._resize(new_budget(await request.body())))

    # -- models ----------------------------------------------------------------------------------------------------
    async def load_model(self, request: Request) -> Response:
        name, url = load_request(await request.body())
        await self._contract().load(name, url)
        return _json({"status": "Workers scaled"})

    async def list_models(self, request: Request) -> Response:
        names = sorted(model["name"] for model in self._serving.models())
        start = page_start(request.query_params.get("next_page_token"))
        answer: dict[str, object] = {"models": [self._described(name) for name in names[start : start + PAGE]]}
        if start + PAGE < len(names):
            answer["nextPageToken"] = str(start + PAGE)
        return _json(answer)

    async def get_model(self, request: Request) -> Response:
        """The contract's two members, and those that Multi Model Server adds."""
        name = request.path_params["name"]
        described = self._described(name)
        size_bytes = next((model["size_bytes"] for model in self._serving.models() if model["name"] == name), 0)
        return _json({**described, **WORKERS, "workers": [{**WORKER, "id": name, "memoryUsage": size_bytes}]})

    async def unload_model(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self._contract().unload(name)
        return _json({"status": f'Model "{name}" unregistered'})

    async def reload(self, request: Request) -> Response:
        return JSONResponse(self._kept().reload(model_named(await request.body())))

    async def unload(self, request: Request) -> Response:
        return JSONResponse(self._kept().unload(model_named(await request.body())))

    async def load(self, request: Request) -> Response:
        timing = Timing(self._clock)
        await self._kept().load(model_named(await request.body()), timing, request.headers.get(wire.LOAD_REASON, ""))
        return JSONResponse(wire.OrderedLoad(led=timing.led))

    async def tiers(self, request: Request) -> Response:
        return JSONResponse({"tiers": self._kept().tiers(models_named(await request.body()))})

    async def update(self, request: Request) -> Response:
        return JSONResponse(await self._kept().update(model_named(await request.body())))

    async def load_adapter(self, request: Request) -> Response:
        if not isinstance(self._serving, Single):
            raise NotSupported("this instance takes no adapters: only one that was started for one model may")
        named, timing = InvocationHead(request.scope["headers"]).with_body(b""), Timing(self._clock)
        await self._serving.load_adapter(named, timing)
        return JSONResponse(wire.OrderedLoad(led=timing.led))

    # -- transform jobs --------------------------------------------------------------------------------------------
    async def execution_parameters(self, request: Request) -> Response:
        """What a script advises. A container without a script advises nothing."""
        timing = Timing(self._clock)
        outcome: Reply | ContainerError | None = None
        if isinstance(self._serving, Single):
            try:
                outcome = await self._serving.execution_parameters(timing)
            except ContainerError as error:
                outcome = error
        if outcome is None:
            raise HTTPException(404)
        status, headers, content = answer_of(None, outcome, timing)
        answer = Response(content, status)
        answer.raw_headers = with_length(headers, content)
        return answer

    # -- inside ----------------------------------------------------------------------------------------------------
    def _described(self, name: str) -> dict[str, str]:
        """Raises ModelNotFound."""
        if isinstance(self._serving, ContractMode):
            return {"modelName": name, "modelUrl": self._serving.url_of(name)}
        if all(model["name"] != name for model in self._serving.models()):
            raise ModelNotFound(name)
        return {"modelName": name, "modelUrl": name}

    def _contract(self) -> ContractMode:
        if not isinstance(self._serving, ContractMode):
            raise NotSupported(
                "this instance loads and unloads its models by itself: to drive it, start it with "
                "SAGEMAKER_MULTI_MODEL=true and without TORPOR_MODEL_SOURCE"
            )
        return self._serving

    def _kept(self) -> KeptMode:
        if not isinstance(self._serving, KeptMode):
            raise NotSupported(
                "this instance keeps no models that leave and come: it was started for one, or by a platform"
            )
        return self._serving


def _json(document: Mapping[str, object]) -> Response:
    """As Multi Model Server writes it: on lines of its own."""
    return Response(json.dumps(document, indent=2) + "\n", media_type="application/json")


async def _container_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ContainerError)
    reply = error.reply()
    return Response(reply.body, reply.status, media_type=reply.content_type)
