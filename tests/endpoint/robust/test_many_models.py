"""Many callers, many models, little memory: every answer is right, and nothing is done twice."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.constant_models import MIB, Traffic, heavy_constant, number_of, traffic
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.waiting import soon, until

BALLAST_BYTES = 4 * MIB


def test_eighty_first_calls_make_one_download_and_one_load(live: LiveEndpoint) -> None:
    put(live.folder("flight"), {"models/a.tar": heavy_constant(7.0, BALLAST_BYTES)})
    live.deploy("single-flight", Variant(many("flight/models")))
    with ThreadPoolExecutor(64) as threads:
        calls = [threads.submit(live.invoke, "single-flight", b"1", TargetModel="a.tar") for _ in range(80)]
        assert {number_of(call.result(60.0)) for call in calls} == {7.0}

    def actions() -> list[str]:
        return [record["action"] for record in endpoint_pages.decisions(live, "single-flight", "a.tar")]

    until(lambda: "not-mapped" in actions())  # a constant has no trees
    assert actions() == ["download", "downloaded", "load", "loaded", "not-mapped"]


def room_for(live: LiveEndpoint, models: int, probe: str) -> dict[str, str]:
    """The environment of an instance that holds so many models with ballast beside itself, as an endpoint shows."""
    put(live.folder(probe), {"models/a.tar": heavy_constant(1.0, 0)})
    small = {"TORPOR_MEMORY_MIB": "500"}  # so that this one too has its libraries from its zygote
    live.deploy(probe, Variant(many(f"{probe}/models", small)))
    live.invoke(probe, b"1", TargetModel="a.tar")
    used_bytes = endpoint_pages.instance(live, probe)["used_bytes"]
    live.sagemaker.delete_endpoint(EndpointName=probe)
    return {"TORPOR_MEMORY_MIB": str((used_bytes + models * (BALLAST_BYTES + MIB)) // MIB)}


def crowd(live: LiveEndpoint, endpoint: str, calls: int) -> Traffic:
    """64 callers over 30 models with room for 8, until so many calls, or two minutes, are over."""
    models = {f"m{number}.tar": float(number) for number in range(30)}
    put(live.folder(endpoint), {f"models/{name}": heavy_constant(n, BALLAST_BYTES) for name, n in models.items()})
    live.deploy(endpoint, Variant(many(f"{endpoint}/models", room_for(live, 8, f"probe-{endpoint}"))))
    with traffic(live, endpoint, models, callers=64) as seen:
        soon(lambda: seen.right + len(seen.wrong) + len(seen.errors) >= calls, 120.0)
    assert len(endpoint_pages.instance(live, endpoint)["models"]) <= 12
    return seen


@pytest.mark.slow
def test_with_room_for_eight_of_thirty_models_every_answer_is_right_and_none_is_lost(live: LiveEndpoint) -> None:
    seen = crowd(live, "crowd", 300)
    assert (seen.wrong, seen.errors) == ([], [])
    assert seen.right >= 300
    assert seen.slowest_s < 60.0


@pytest.mark.thorough
def test_after_two_hundred_models_came_and_went_the_memory_is_back(live: LiveEndpoint) -> None:
    models = {f"m{number:03}.tar": float(number) for number in range(220)}
    put(live.folder("parade"), {f"models/{name}": heavy_constant(n, MIB) for name, n in models.items()})
    live.deploy("parade", Variant(many("parade/models", MultiModelConfig={"ModelCacheSetting": "Disabled"})))

    def parade(names: list[str]) -> int:
        for name in names:
            assert number_of(live.invoke("parade", b"1", TargetModel=name)) == models[name]
        return endpoint_pages.settled_bytes(live, "parade")

    first, *rest = sorted(models)
    before_bytes = parade([first, *rest[:19]])  # the first calls touch the framework's pages and start the threads
    assert parade(rest[19:]) < before_bytes + 4 * MIB  # of the two hundred that came, a MiB each
