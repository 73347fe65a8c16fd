"""The list in use: kept from AWS's files, told by the command, and used by every bill from then on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.helpers.ledger_with_pages import NOON_S, LedgerWithPages, invocation, life
from tests.sdk.helpers.price_files import HOUSE, Product, as_csv, as_json
from torpor.cli import app
from torpor.errors import TorporError
from torpor.prices import SHIPPED, PriceFileRefused, current, reset, update
from torpor_endpoint.core.pricing.quotes import S3_GETS, S3_STORED
from torpor_endpoint.kept_prices import KeptPricesUnusable, current_prices, kept_path

IRELAND = (*HOUSE, Product("EU-Host:ml.m5.large", "0.1280000000"), Product("EU-Host:VolumeUsage.gp2", "0.154", "GB-Mo"))
OF_S3 = (Product("EU-TimedStorage-ByteHrs", "0.023", "GB-Mo"), Product("EU-Requests-Tier2", "0.0000004", "Requests"))


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    return tmp_path / "configuration" / "torpor" / "prices.json"


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_without_a_kept_list_the_one_that_ships_is_used() -> None:
    assert current() == SHIPPED
    assert current_prices() == SHIPPED.prices
    assert not reset()


def test_a_kept_list_is_what_every_bill_is_made_with(tmp_path: Path, configured: Path) -> None:
    kept = update(as_json(tmp_path / "offer.json", *IRELAND))
    assert configured == kept_path()
    assert current() == kept
    assert (current_prices(), current_prices().region) == (kept.prices, "eu-west-1")
    assert current_prices().types["ml.g9.xlarge"].gpus == 1  # of the file: Torpor does not know this type
    assert reset()
    assert current() == SHIPPED


def test_s3s_file_adds_to_the_kept_list_and_stays_when_sagemakers_comes_again(tmp_path: Path) -> None:
    update(as_json(tmp_path / "offer.json", *IRELAND))
    both = update(as_csv(tmp_path / "s3.csv", *OF_S3, OfferCode="AmazonS3")).prices
    assert (both.usd("ml.m5.large"), both.usd(S3_STORED), both.usd(S3_GETS)) == (0.128, 0.023, 4e-7)
    again = update(as_json(tmp_path / "offer.json", replace(IRELAND[-2], usd="0.13"))).prices
    assert (again.usd("ml.m5.large"), again.usd(S3_STORED)) == (0.13, 0.023)
    elsewhere = update(as_json(tmp_path / "offer.json", replace(HOUSE[0], region="sa-east-1"))).prices
    assert elsewhere.usd(S3_STORED) is None


@pytest.mark.parametrize("content", ["", "{", "<html>", '{"offerCode": "AmazonEC2", "products": {}, "terms": {}}'])
def test_a_bad_file_is_one_line_and_the_old_list_stays(tmp_path: Path, configured: Path, content: str) -> None:
    update(as_json(tmp_path / "offer.json", *IRELAND))
    before = configured.read_bytes()
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    with pytest.raises(PriceFileRefused):
        update(bad)
    done = ran("prices", "update", str(bad))
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith(f"torpor: {bad}: ")
    assert configured.read_bytes() == before


def test_a_kept_list_that_cannot_be_read_says_what_to_do(configured: Path) -> None:
    configured.parent.mkdir(parents=True)
    for text in ("{", "[]", '{"region": 1}'):
        configured.write_text(text)
        with pytest.raises(KeptPricesUnusable, match="write it with `torpor prices update FILE`, or remove it"):
            current_prices()
        with pytest.raises(TorporError, match=r"prices\.json cannot be used"):
            current()
        assert ran("prices").stderr.startswith(f"torpor: {configured} cannot be used")


def test_another_regions_prices_are_those_that_ship_or_none() -> None:
    assert current("eu-west-1").prices.usd("ml.m5.xlarge") == 0.257
    with pytest.raises(TorporError, match=r"no price of mars-1 is known, only of us-east-1, us-east-2, eu-west-1"):
        current("mars-1")


# -- the commands ------------------------------------------------------------------------------------------------------
def test_prices_shows_each_figure_and_what_has_none(tmp_path: Path) -> None:
    shown = ran("prices").stdout
    assert "us-east-1 · 2026-09-27 · AWS Price List API" in shown
    assert any(line.split() == ["ml.m5.large", "2", "8", "$0.115", "$0.115"] for line in shown.splitlines())
    assert "without a price: provisioned" not in shown
    assert "as it ships" in shown
    shown = ran("prices", "update", str(as_json(tmp_path / "offer.json", *IRELAND))).stdout
    assert "eu-west-1 · 2026-11-03 · AWS Price List, offer AmazonSageMaker, eu-west-1, offer.json" in shown
    assert "without a price: provisioned concurrency, kept ready; provisioned concurrency, processing" in shown
    assert f"kept in {kept_path()}" in shown.replace("\n", "")
    found = json.loads(ran("prices", "--json").stdout)
    assert {"item": "ml.m5.large", "usd": 0.128, "unit": "hour"}.items() <= found["quotes"][1].items()
    assert "ml.m5.xlarge" in found["without_a_price"]["types"]
    assert ran("prices", "reset").stdout == "the list that ships is used again\n"


def test_simulate_and_plan_use_the_kept_list(tmp_path: Path) -> None:
    traffic = "zipf:models=2,duration_s=60"
    assert "$88.15" in ran("simulate", traffic).stdout
    ran("prices", "update", str(as_json(tmp_path / "offer.json", *IRELAND)))
    assert "$98.06" in ran("simulate", traffic).stdout  # 730 x 0.128 + 30 x 0.154
    allowed = ("--instance-type", "ml.m5.large", "--instances-max", "1", "--policy", "LRU")
    planned = ran("plan", traffic, "--slo-ms", "60000", *allowed).stdout
    assert "US dollars at the prices of 2026-11-03" in planned


def test_the_live_ledgers_bill_uses_the_kept_list(tmp_path: Path) -> None:
    recorded = LedgerWithPages(tmp_path)
    recorded.ledger.lived(life(NOON_S - 3600, NOON_S))
    recorded.ledger.invoked(invocation(NOON_S - 60))
    recorded.flush()

    def usd() -> float:
        (bill,) = recorded.reading.costs("houses", NOON_S - 7200, NOON_S).bills
        assert bill.costs.usd is not None
        return bill.costs.usd

    assert usd() == pytest.approx(0.115 + 30 * 0.14 / 730, rel=1e-6)
    update(as_json(tmp_path / "offer.json", *IRELAND))
    assert usd() == pytest.approx(0.128 + 30 * 0.154 / 730, rel=1e-6)
    recorded.ledger.close()


# -- savings plans -----------------------------------------------------------------------------------------------------
def of_savings(path: Path, usd: str = "0.0820", currency: str = "USD") -> Path:
    """AWS's file of SageMaker's savings plans, made small, in the form that AWS publishes."""
    rates = [
        {
            "discountedSku": f"S{number}",
            "discountedUsageType": usage,
            "discountedOperation": "RunInstance",
            "discountedServiceCode": "AmazonSageMaker",
            "rateCode": f"P1.S{number}",
            "unit": "Hrs",
            "discountedRate": {"price": usd, "currency": currency},
        }
        for number, usage in enumerate(("EU-Host:ml.m5.large", "EU-Train:ml.m5.large", "EU-Tsform:ml.m5.large"))
    ]
    plan = {"sku": "P1", "description": "1 year No Upfront SageMaker Savings Plan", "rates": rates}
    products = [{"sku": "P1", "productFamily": "MachineLearningSavingsPlans", "attributes": {"purchaseTerm": "1yr"}}]
    head = {"version": "20261103", "publicationDate": "2026-11-03T00:00:00Z", "regionCode": "eu-west-1"}
    path.write_text(json.dumps({**head, "products": products, "terms": {"savingsPlan": [plan]}}))
    return path


def test_the_rates_of_savings_plans_are_kept_and_shown_beside_the_bill(tmp_path: Path) -> None:
    update(as_json(tmp_path / "offer.json", *IRELAND))
    kept = update(of_savings(tmp_path / "plans.json"))
    assert {(one.item, one.usd) for one in kept.savings} == {
        ("ml.m5.large", 0.082),
        ("batch transform, ml.m5.large", 0.082),
    }
    shown = ran("simulate", "zipf:models=2,duration_s=60").stdout.replace("\n", " ")
    assert "under a savings plan (1 year No Upfront SageMaker Savings Plan), $0.082 an hour: $64.48 a month" in shown
    assert update(as_json(tmp_path / "offer.json", *IRELAND)).savings == kept.savings


@pytest.mark.parametrize(
    ("usd", "currency", "told"),
    [
        ("0.08", "CNY", "is priced in CNY, not in US dollars"),
        ("-1", "USD", "has the price -1: fetch it from AWS again"),
    ],
)
def test_rates_that_cannot_be_used_change_nothing(tmp_path: Path, usd: str, currency: str, told: str) -> None:
    with pytest.raises(PriceFileRefused, match=told):
        update(of_savings(tmp_path / "plans.json", usd, currency))
    cut = tmp_path / "cut.json"
    cut.write_text(of_savings(tmp_path / "plans.json").read_text()[:-20])
    with pytest.raises(PriceFileRefused, match="is cut short: fetch it from AWS again"):
        update(cut)
    assert current() == SHIPPED
