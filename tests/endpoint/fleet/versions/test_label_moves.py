"""A label that is moved while its endpoint is deleted is not kept for the next endpoint of this name."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from torpor_endpoint.core.versions.label_records import VersionLabels
from torpor_endpoint.core.versions.version_answers import AnsweringVersions, ServedVersions
from torpor_endpoint.core.versions.version_switching import VersionPlan
from torpor_endpoint.fleet.versions.label_moves import BadMove, LabelMoves, VersionLabelBook

IRIS = AnsweringVersions({1: "iris/1/m.tar", 2: "iris/2/m.tar"}, 2)


class Keeper:
    """Its loads end after `deleted` has taken the endpoint from the roster."""

    def __init__(self, live: Any, deleted: bool) -> None:
        self.roster = {live.name: live}
        self.loading = SimpleNamespace(failures=lambda pool: {})
        self._deleted = deleted

    def present(self, pool: Any, name: str) -> dict[int, str]:
        return dict(IRIS.artifacts)

    async def bring(self, pool: Any, name: str, labels: Any, serve: bool = True) -> VersionPlan:
        if self._deleted:
            self.roster.clear()
        return VersionPlan(IRIS)


def moved(deleted: bool) -> list[VersionLabels]:
    kept: list[VersionLabels] = []
    live: Any = SimpleNamespace(
        name="shop", every_pool=[SimpleNamespace(endpoint="shop", versions=ServedVersions({"iris": IRIS}))]
    )

    async def applied() -> None: ...

    table: Any = SimpleNamespace(put=kept.append)
    keeper: Any = Keeper(live, deleted)
    moves = LabelMoves(VersionLabelBook(table), keeper, applied)
    if deleted:
        with pytest.raises(BadMove, match="endpoint shop was deleted meanwhile"):
            asyncio.run(moves.move(live, "iris", "stable", 1))
    else:
        asyncio.run(moves.move(live, "iris", "stable", 1))
    return kept


def test_a_move_is_kept_only_while_its_endpoint_is_there() -> None:
    assert [one.labels for one in moved(deleted=False)] == [{"stable": 1}]
    assert moved(deleted=True) == []
