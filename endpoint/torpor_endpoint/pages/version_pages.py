"""The pages of versions: which there are and what answers, and the move of a label."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from torpor_endpoint.core.pages.model_versions import ModelVersions, VersionState, versions_page
from torpor_endpoint.core.versions.version_answers import NO_VERSIONS, NUMBER
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.versions.label_moves import BadMove, LabelMoves, NotLoadable
from torpor_endpoint.fleet.versions.version_keeper import VersionKeeper


class VersionPages:
    """Answers for an endpoint that is in service."""

    def __init__(self, keeper: VersionKeeper, moves: LabelMoves) -> None:
        self._keeper = keeper
        self._moves = moves

    async def show(self, live: FleetEndpoint, model: str) -> Response:
        """Every model with versions, or, if it is not empty, this one."""
        return JSONResponse(versions_page(await self._shown(live, model)))

    async def move(self, live: FleetEndpoint, request: Request) -> Response:
        """Point a label to a version, remove it, or take it back."""
        asked = request.query_params
        model, label, version, back = (asked.get(name, "") for name in ("model", "label", "version", "back"))
        if not model or not label:
            raise HTTPException(400, "name the model and the label: ?endpoint=…&model=…&label=…&version=…")
        if back not in ("", "true"):
            raise HTTPException(400, f"back={back!r} must be true, or absent")
        if version and (back or not NUMBER.fullmatch(version)):
            why = "cannot go with back=true" if back else "must be a whole number more than 0, or empty"
            raise HTTPException(400, f"version={version!r} {why}")
        try:
            if back:
                await self._moves.back(live, model, label)
            else:
                await self._moves.move(live, model, label, int(version) if version else None)
        except BadMove as error:
            raise HTTPException(400, str(error)) from None
        except NotLoadable as error:
            raise HTTPException(409, f"{error}; the label stays where it was") from None
        return JSONResponse(versions_page(await self._shown(live, model)))

    async def _shown(self, live: FleetEndpoint, model: str) -> list[ModelVersions]:
        found = []
        for variant, pool in live.by_key.items():
            names = () if pool.versions is None else pool.versions.names
            for name in sorted(names):
                if model in ("", name):
                    found.append(await self._of(pool, variant, name))
        if model and not found:
            raise HTTPException(404, f"endpoint {live.name} has no versions of a model {model!r}")
        return found

    async def _of(self, pool: InstancePool, variant: str, name: str) -> ModelVersions:
        keeper, present = self._keeper, self._keeper.present(pool, name)
        _, holders = await keeper.loading.look(pool, name, present)
        failures = keeper.loading.failures(pool)
        answers = NO_VERSIONS if pool.versions is None else pool.versions.names.get(name, NO_VERSIONS)
        prefix = keeper.prefixes.of(pool)
        versions = tuple(
            VersionState(
                number,
                key,
                answers.artifacts.get(number) == key and not answers.fault,
                tuple(sorted(label for label, one in answers.labels.items() if one == number)),
                tuple(sorted(one.id for one in holders.get(key, ()))),
                failures.get(key, ""),
            )
            for number, key in sorted(present.items())
        )
        return ModelVersions(
            name,
            variant,
            answers.default,
            answers.labels,
            versions,
            keeper.waits.get((pool, name), {}),
            () if prefix is None else tuple(prefix.layout.crowded(name)),
            answers.fault,
        )
