"""AWS's price list files, in both formats: the prices read from them, and the errors of unusable files."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.sdk.helpers.price_files import HOUSE, Product, as_csv, as_json
from torpor.cli import app
from torpor.prices import DATA_MOVED, SERVERLESS, PriceFileRefused, read
from torpor_endpoint.core.pricing.quotes import (
    PROVISIONED,
    PROVISIONED_PROCESSING,
    S3_GETS,
    S3_PUTS,
    S3_STORED,
    VOLUME,
    transform_item,
)

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
        (replace(HOST, currency="CNY"), "is priced in CNY, not in US dollars: name another region's file"),
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
    with pytest.raises(PriceFileRefused, match="is the price list of AmazonEC2: name AWS's file of AmazonSageMaker"):
        read(write(tmp_path / "offer", HOST, OfferCode="AmazonEC2"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty: fetch it from AWS again"),
        (b"\n \n", "is empty: fetch it from AWS again"),
        (b"<Error><Code>AccessDenied</Code></Error>\n", "it has no 'SKU': name AWS's own JSON or CSV"),
        (b'{"offerCode": nonsense}', "is not an AWS price list, or is cut short"),
        (b'["AmazonSageMaker"]', "is not an AWS price list, or is cut short"),
        (b"instance,price\nml.m5.large,0.115\n", "it has no 'SKU'"),
        (b"SKU,Unit\nS1,Hrs\n", "it has no 'termtype'"),
        (b'{"products": {', "is cut short: fetch it from AWS again"),
        (b'{"prices": 1}', "it has no 'products'"),
        (b'{"products": [], "terms": []}', "is not an AWS price list, or is cut short"),
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


# -- a large file, cut anywhere ----------------------------------------------------------------------------------------
def test_a_file_that_is_cut_anywhere_is_refused_by_name_and_says_what_to_do(write: Writer, tmp_path: Path) -> None:
    """At the end of a row, or of its last comma, a CSV file cannot be told from a whole one."""
    whole = write(tmp_path / "whole", *HOUSE).read_bytes().rstrip()
    rows = {at for at in range(len(whole)) if whole[:at].endswith(b'"\n') or whole[:at].endswith(b'"\r\n')}
    ends = {at - back for at in rows for back in range(5)} if write is as_csv else set()
    cut = tmp_path / "cut"
    for at in set(range(1, len(whole), 7)) - ends:
        cut.write_bytes(whole[:at])
        with pytest.raises(PriceFileRefused) as caught:
            read(cut)
        assert str(caught.value).startswith(f"{cut}: ")
        assert "fetch it" in str(caught.value) or "name AWS's" in str(caught.value), (at, str(caught.value))


def test_only_the_products_that_are_wanted_are_looked_into(tmp_path: Path) -> None:
    """A file of all regions has a hundred times as many others, which may be of any form."""
    path = as_json(tmp_path / "offer", *HOUSE)
    terms = json.loads(path.read_text())
    terms["products"]["OTHER"] = {"attributes": {"usagetype": "EU-Studio:ml.m5.large"}, "more": [1, {"of": None}]}
    terms["terms"]["OnDemand"]["OTHER"] = "a price of another kind"
    terms["terms"]["Reserved"] = {"S0": ["a price of another kind"]}
    (tmp_path / "more").write_text(json.dumps(terms))
    assert [one.usd for one in read(tmp_path / "more").quotes] == [one.usd for one in read(path).quotes]


def test_what_follows_the_document_is_no_price_list(tmp_path: Path) -> None:
    path = as_json(tmp_path / "offer", *HOUSE)
    path.write_text(path.read_text() + " \n ")
    assert read(path).region == "eu-west-1"
    path.write_text(path.read_text() + "{}")
    with pytest.raises(PriceFileRefused, match="trailing characters"):
        read(path)


# -- all kinds of cost -------------------------------------------------------------------------------------------------
OTHERS = (
    Product("EU-Tsform:ml.m5.large", "0.1290000000"),
    Product("EU-Odd:ml.c5.large", "0.1150000000", attributes={"instanceType": "ml.c5.large-BatchTransform"}),
    Product("EU-Host:VolumeUsage.gp2", "0.1540000000", "GB-Mo"),
    Product("EU-ServerlessInf:ProvisionedConcurrency:Usage-2GB", "0.0000112000", "seconds"),
    Product("EU-ServerlessInf:ProvisionedConcurrency:Mem-2GB", "0.0000256000", "seconds"),
)


def test_each_kind_of_cost_is_taken(write: Writer, tmp_path: Path) -> None:
    prices = read(write(tmp_path / "offer", *HOUSE, *OTHERS)).prices
    assert prices.usd(transform_item("ml.m5.large")) == 0.129
    assert (prices.usd("ml.m5.large"), prices.usd("ml.c5.large")) == (None, None)
    assert prices.usd(transform_item("ml.c5.large")) == 0.115  # by its instance type, whatever its usage is called
    assert prices.usd(VOLUME) == 0.154
    assert prices.usd(PROVISIONED) == 0.0000112 / 2
    assert prices.usd(PROVISIONED_PROCESSING) == 0.0000256 / 2


def test_s3s_file_gives_the_prices_of_storage_and_requests(write: Writer, tmp_path: Path) -> None:
    stored = Product("EU-TimedStorage-ByteHrs", "0.0230000000", "GB-Mo")
    found = read(
        write(
            tmp_path / "offer",
            stored,
            replace(stored, usd="0.0220000000", begins="51200"),
            Product("EU-TimedStorage-SIA-ByteHrs", "0.0125000000", "GB-Mo"),
            Product("EU-Requests-Tier1", "0.0000050000", "Requests"),
            Product("EU-Requests-Tier2", "0.0000004000", "Requests"),
            OfferCode="AmazonS3",
        )
    )
    assert {quote.item: quote.usd for quote in found.quotes} == {S3_STORED: 0.023, S3_PUTS: 5e-6, S3_GETS: 4e-7}
