"""AWS's price list files, in both formats: the prices read from them, and the errors of unusable files."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.sdk.helpers.price_files import HOUSE, Product, as_csv, as_json
from torpor.cli import app
from torpor.prices import DATA_MOVED, SERVERLESS, PriceFileRefused, read

Writer = Callable[..., Path]
HOST = HOUSE[0]


@pytest.fixture(params=[as_json, as_csv])
def write(request: pytest.FixtureRequest) -> Writer:
    writer: Writer = request.param
    return writer


def test_hosting_and_serverless_are_taken_and_training_is_not(write: Writer, tmp_path: Path) -> None:
    found = read(write(tmp_path / "offer", *HOUSE))
    assert (found.region, found.dated) == ("eu-west-1", "2026-11-03")
    assert {quote.item: (quote.usd, quote.unit) for quote in found.quotes} == {
        "ml.r5.2xlarge": (0.672, "hour"),
        "ml.g9.xlarge": (1.5, "hour"),
        SERVERLESS: (0.000089 / 4, "GB-second"),
        DATA_MOVED: (0.016, "GB"),
    }
    first = next(quote for quote in found.quotes if quote.item == "ml.g9.xlarge")
    assert first.dated == "2026-11-01"
    assert first.source == "offer, SKU S1, EU-Host:ml.g9.xlarge"


def test_a_price_that_the_file_does_not_have_is_none(write: Writer, tmp_path: Path) -> None:
    prices = read(write(tmp_path / "offer", HOST)).prices
    assert prices.usd_per_hour("ml.r5.2xlarge") == 0.672
    assert prices.usd_per_hour("ml.m5.large") is None  # though the list that ships has it
    assert (prices.usd(SERVERLESS), prices.usd(DATA_MOVED)) == (None, None)


def test_a_new_type_has_the_size_of_the_file(write: Writer, tmp_path: Path) -> None:
    prices = read(write(tmp_path / "offer", *HOUSE, Product("EU-Host:ml.z9.huge", "1.0"))).prices
    new = prices.types["ml.g9.xlarge"]
    assert (new.vcpus, new.memory_mib, new.gpus, prices.usd_per_hour(new.name)) == (4, 1536 * 1024, 1, 1.5)
    assert "ml.z9.huge" not in prices.types


def test_the_newest_price_of_a_type_and_the_first_tier_that_is_not_free_count(write: Writer, tmp_path: Path) -> None:
    old = replace(HOST, usd="0.7000000000", effective="2024-01-01T00:00:00Z")
    reserved = replace(HOST, usd="0.1", term="Reserved")
    free, later = replace(HOST, usd="0.0"), replace(HOST, usd="0.5", begins="1000")
    found = read(write(tmp_path / "offer", old, later, free, HOST, reserved))
    assert [quote.usd for quote in found.quotes] == [0.672]


def test_a_type_that_is_only_ever_free_has_no_price(write: Writer, tmp_path: Path) -> None:
    assert read(write(tmp_path / "offer", replace(HOST, usd="0.0"))).quotes == ()


def test_a_file_of_several_regions_needs_the_name_of_one(write: Writer, tmp_path: Path) -> None:
    path = write(tmp_path / "offer", HOST, replace(HOST, usd="0.605", region="us-east-1"))
    assert read(path, "us-east-1").prices.usd_per_hour("ml.r5.2xlarge") == 0.605
    with pytest.raises(PriceFileRefused, match="has prices of eu-west-1, us-east-1: name one of them"):
        read(path)
    with pytest.raises(PriceFileRefused, match="has no prices of mars-1, only of eu-west-1, us-east-1"):
        read(path, "mars-1")


def test_the_command_names_the_region_too(write: Writer, tmp_path: Path) -> None:
    host = replace(HOST, usage_type="EU-Host:ml.m5.large", usd="0.128")
    path = write(tmp_path / "offer", host, replace(host, usd="0.115", region="us-east-1"))

    def simulated(*more: str) -> Result:
        return CliRunner().invoke(app, ["simulate", "zipf:models=2,duration_s=60", "--prices", str(path), *more])

    assert "has prices of eu-west-1, us-east-1: name one of them (region=, --region)" in simulated().stderr
    assert "$93.44" in simulated("--region", "eu-west-1").stdout


@pytest.mark.parametrize(
    ("product", "said"),
    [
        (replace(HOST, unit="Quantity"), "SKU S0, EU-Host:ml.r5.2xlarge, is priced by 'Quantity', not by the hour"),
        (replace(HOST, usd="cheap"), "has no price in US dollars"),
        (replace(HOST, currency="CNY"), "has no price in US dollars"),
        (replace(HOST, usd="-0.5"), "has the price -0.5, which is not possible"),
        (replace(HOST, usd="nan"), "has the price nan, which is not possible"),
        (Product("EU-Train:ml.m5.large", "0.1"), "has no prices for hosting or serverless inference"),
    ],
)
def test_a_product_without_a_clear_price_is_refused(write: Writer, tmp_path: Path, product: Product, said: str) -> None:
    with pytest.raises(PriceFileRefused, match=said):
        read(write(tmp_path / "offer", product))


def test_serverless_prices_that_do_not_grow_with_the_memory_are_refused(write: Writer, tmp_path: Path) -> None:
    small, large = HOUSE[3], replace(HOUSE[4], usd="0.0000500000")
    with pytest.raises(PriceFileRefused, match="do not grow with the memory"):
        read(write(tmp_path / "offer", small, large))


def test_another_services_list_is_refused(write: Writer, tmp_path: Path) -> None:
    with pytest.raises(PriceFileRefused, match="is the price list of AmazonEC2, not of AmazonSageMaker"):
        read(write(tmp_path / "offer", HOST, OfferCode="AmazonEC2"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not an AWS price list: it has no 'SKU'"),
        (b"instance,price\nml.m5.large,0.115\n", "it has no 'SKU'"),
        (b"SKU,Unit\nS1,Hrs\n", "it has no 'termtype'"),
        (b'{"products": {', "is incomplete"),
        (b'{"prices": 1}', "it has no 'products'"),
        (b'{"products": [], "terms": []}', "is not an AWS price list: 'list' object"),
        (gzip.compress(b"{}", mtime=0), "unpack a compressed file first"),
    ],
)
def test_a_file_that_is_no_price_list_is_refused_by_name(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "offer"
    path.write_bytes(content)
    with pytest.raises(PriceFileRefused, match=said) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_the_systems_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nowhere.json")
