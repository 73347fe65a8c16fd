"""The ledger's pages, and their sources."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.ledger_with_pages import FIRST_USE, NOON_S, LedgerWithPages, answer, invocation, life
from torpor_container.typed_json import read
from torpor_container.wire import ColdLoad
from torpor_endpoint.core.ledger_records import MemoryReading
from torpor_endpoint.core.pages.costs import ContainerUse, Costs
from torpor_endpoint.core.pricing.quotes import DATA_MOVED, SERVERLESS

HOUR_USD = 0.115 + 30 * 0.14 / 730
"""An hour of an ml.m5.large and of its volume of 30 GB."""

COLD = {"download": 0.05, "load": 0.2, "predict": 0.002, "overhead": 0.001}


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[LedgerWithPages]:
    """An hour after noon; an instance has run since noon, and a serverless one beside it."""
    made = LedgerWithPages(tmp_path, now_s=NOON_S + 3600)
    made.ledger.lived(life())
    made.ledger.lived(life(endpoint="villas", instance="i-2", size="serverless-2048"))
    yield made
    made.ledger.close()


def page(recorded: LedgerWithPages, target: str) -> Any:
    status, body = asyncio.run(answer(recorded.app(), f"/_torpor/{target}"))
    assert status == 200, body
    return json.loads(body)


def refusal(recorded: LedgerWithPages, target: str) -> tuple[int, str]:
    status, body = asyncio.run(answer(recorded.app(), f"/_torpor/{target}"))
    return status, body.decode()


def test_cold_starts_are_shown_as_soon_as_they_are_recorded(recorded: LedgerWithPages) -> None:
    recorded.ledger.invoked(invocation(steps=COLD, cold=FIRST_USE))
    (shown,) = page(recorded, "cold-starts")["cold_starts"]
    assert (shown["model"], shown["steps"], shown["cold"]) == ("a", COLD, dict(FIRST_USE))
    assert sum(shown["steps"].values()) == pytest.approx(shown["total_s"], abs=0.001)


def test_the_latest_cold_starts_are_shown_oldest_first(recorded: LedgerWithPages) -> None:
    for second, model, endpoint in ((3, "c", "houses"), (1, "a", "houses"), (2, "b", "houses"), (4, "a", "villas")):
        recorded.ledger.invoked(invocation(NOON_S + second, COLD, model=model, endpoint=endpoint))

    def models(query: str) -> list[str]:
        return [one["model"] for one in page(recorded, f"cold-starts?{query}")["cold_starts"]]

    assert models("endpoint=houses") == ["a", "b", "c"]
    assert models("endpoint=houses&limit=2") == ["b", "c"]
    assert models(f"since_s={NOON_S + 3}") == ["c", "a"]
    assert models("model=a&endpoint=villas") == ["a"]


def test_the_slowest_cold_starts_are_shown_slowest_first(recorded: LedgerWithPages) -> None:
    for second, load_s in ((1, 0.2), (2, 0.9), (3, 0.5), (4, 0.1)):
        recorded.ledger.invoked(invocation(NOON_S + second, {"load": load_s}, model=f"m{second}"))
    shown = page(recorded, "cold-starts?order=slowest&limit=3")["cold_starts"]
    assert [one["model"] for one in shown] == ["m2", "m3", "m1"]
    assert refusal(recorded, "cold-starts?order=random") == (400, "order is one of latest, slowest, not 'random'")


def test_cold_starts_add_up_by_periods(recorded: LedgerWithPages) -> None:
    for second in (1, 2, 130):
        recorded.ledger.invoked(invocation(NOON_S + second, {"wake": 0.5, "load": 0.25, "predict": 3.0}))
    recorded.ledger.invoked(invocation(NOON_S + 1, {"load": 9.0}, endpoint="villas", instance="i-2"))
    recorded.flush()
    found = recorded.reading.cold_periods("houses", NOON_S, NOON_S + 180, 60)
    assert found == [(NOON_S, 2, 1.5), (NOON_S + 120, 1, 0.75)]


def test_costs_are_those_of_the_last_day_with_their_parts(recorded: LedgerWithPages) -> None:
    recorded.ledger.invoked(invocation(NOON_S + 60, {"predict": 36.0}))
    recorded.ledger.invoked(invocation(NOON_S + 60, {"load": 1.0, "predict": 9.0}, endpoint="villas", instance="i-2"))
    shown = page(recorded, "costs")
    houses, villas = shown["variants"]
    assert (shown["until_s"] - shown["since_s"], shown["priced_on"]) == (24 * 3600, "2026-09-27")
    assert (houses["usd"], houses["models"][0]["usd"]) == pytest.approx((HOUR_USD, HOUR_USD / 100), rel=1e-4)
    assert villas["usd"] == pytest.approx(9 * 2 * 0.00002, rel=1e-3)  # the load is not billed
    assert villas["sizes"][0]["gb_s"] == pytest.approx(18.0)
    small = 0.0464 + 30 * 0.14 / 730
    assert [way["usd"] for way in villas["on_aws"]] == pytest.approx([small, 2 * small, small, 0.00036], rel=1e-3)
    assert [line["item"] for line in villas["lines"]] == [SERVERLESS, DATA_MOVED]


def test_a_shadow_variant_has_its_own_row_and_its_share_of_the_bill(recorded: LedgerWithPages) -> None:
    recorded.ledger.lived(life(variant="w", instance="i-3", shadow=True))
    for one in (invocation(NOON_S), invocation(NOON_S)._replace(variant="w", instance="i-3", shadow=True)):
        recorded.ledger.invoked(one)
    costs = read(Costs, page(recorded, "costs?endpoint=houses"))
    assert [(one.variant, one.shadow, one.requests) for one in costs.variants] == [("v", False, 1), ("w", True, 1)]
    (share,) = costs.shadows
    assert (share.endpoint, share.share) == ("houses", 0.5)
    assert (share.usd, share.of_usd) == pytest.approx((HOUR_USD, 2 * HOUR_USD))
    assert read(Costs, page(recorded, "costs?endpoint=villas")).shadows == ()


def test_a_shadow_variant_that_was_promoted_has_a_row_of_each_kind(recorded: LedgerWithPages) -> None:
    recorded.ledger.lived(life(changed_s=NOON_S + 2700))
    for minute, shadow in ((0, True), (44, True), (46, False)):
        recorded.ledger.invoked(invocation(NOON_S + 60 * minute)._replace(shadow=shadow))
    costs = read(Costs, page(recorded, "costs?endpoint=houses"))
    assert [(one.shadow, one.requests, one.sizes[0].instance_s) for one in costs.variants] == [
        (False, 1, 900.0), (True, 2, 2700.0)
    ]  # fmt: skip
    assert costs.shadows[0].share == pytest.approx(0.75)


def test_a_test_of_unknown_price_has_no_known_share(recorded: LedgerWithPages) -> None:
    recorded.ledger.lived(life(variant="w", instance="i-3", shadow=True, size="ml.m4.xlarge"))
    (share,) = read(Costs, page(recorded, "costs?endpoint=houses")).shadows
    assert (share.usd, share.of_usd, share.share) == (None, None, None)


def test_costs_have_the_time_and_memory_of_each_container_of_a_pipeline(recorded: LedgerWithPages) -> None:
    for seconds in (0.25, 0.75):
        passed = {"clean": seconds, "a-model": 2 * seconds}
        recorded.ledger.invoked(invocation(NOON_S + 60)._replace(container_s=passed))
    for own_bytes in (5, 7):
        recorded.ledger.looked(MemoryReading(NOON_S, "houses", "v", "i-1", 40, own_bytes, container="clean"))
    houses, villas = read(Costs, page(recorded, "costs")).variants
    assert houses.containers == (ContainerUse("clean", 2, 1.0, 6), ContainerUse("a-model", 2, 2.0, None))
    assert villas.containers == ()


def test_costs_of_windows_that_meet_add_up(recorded: LedgerWithPages) -> None:
    for minute in range(50):
        steps = {"predict": 0.5 + minute / 10}
        recorded.ledger.invoked(invocation(NOON_S + 60 * minute, steps, endpoint="villas", instance="i-2"))

    def usd(since_s: float, until_s: float) -> list[float]:
        variants = page(recorded, f"costs?since_s={since_s}&until_s={until_s}")["variants"]
        return [variant["usd"] for variant in variants]

    whole, cut_s = usd(NOON_S, NOON_S + 3600), NOON_S + 1234
    parts = zip(usd(NOON_S, cut_s), usd(cut_s, NOON_S + 3600), strict=True)
    assert whole == pytest.approx([sum(pair) for pair in parts])


def test_the_dearest_models_are_named_and_the_others_counted(recorded: LedgerWithPages) -> None:
    for number in range(30):
        recorded.ledger.invoked(invocation(steps={"predict": 1.0 + number}, model=f"m{number:02}"))
    houses, _ = page(recorded, "costs?models=2")["variants"]
    assert [model["model"] for model in houses["models"]] == ["m29", "m28"]
    assert (houses["others"]["models"], houses["others"]["requests"], houses["requests"]) == (28, 28, 30)
    parts = [*(model["usd"] for model in houses["models"]), houses["others"]["usd"], houses["idle_usd"]]
    assert sum(parts) == pytest.approx(houses["usd"])


def test_costs_end_now_and_start_within_the_kept_time(recorded: LedgerWithPages) -> None:
    shown = page(recorded, f"costs?since_s=0&until_s={NOON_S * 2}")
    assert (shown["since_s"], shown["until_s"]) == (recorded.now_s - recorded.retention.kept_s, recorded.now_s)
    assert shown["variants"][0]["sizes"][0]["instance_s"] == 3600


@pytest.mark.parametrize(
    ("target", "status", "said"),
    [
        ("cold-starts?endpoint=nobody", 404, "the ledger has nothing of an endpoint 'nobody'"),
        ("costs?endpoint=nobody", 404, "the ledger has nothing of an endpoint 'nobody'"),
        ("cold-starts?limit=many", 400, "limit is a number, not 'many'"),
        ("cold-starts?limit=-1", 400, "limit is zero or more, not -1"),
        ("costs?since_s=nan", 400, "since_s is zero or more, not nan"),
    ],
)
def test_a_page_that_cannot_be_shown_is_refused_in_one_line(
    recorded: LedgerWithPages, target: str, status: int, said: str
) -> None:
    assert refusal(recorded, target) == (status, said)


def test_a_name_that_is_no_text_harms_no_other_row(recorded: LedgerWithPages) -> None:
    odd = b"\xff.tar.gz".decode(errors="surrogateescape")
    told: ColdLoad = {**FIRST_USE, "victims": [odd]}
    recorded.ledger.invoked(invocation(steps=COLD, model=odd, cold=told))
    recorded.ledger.invoked(invocation(steps=COLD))
    first, second = page(recorded, "cold-starts")["cold_starts"]
    assert (first["model"], first["cold"]["victims"], second["model"]) == ("?.tar.gz", ["?.tar.gz"], "a")
    assert [model["model"] for model in page(recorded, "costs")["variants"][0]["models"]] == ["?.tar.gz", "a"]


def test_an_endpoint_that_only_lived_is_known_and_has_no_cold_starts(recorded: LedgerWithPages) -> None:
    assert page(recorded, "cold-starts?endpoint=houses") == {"cold_starts": [], "of": {}}
