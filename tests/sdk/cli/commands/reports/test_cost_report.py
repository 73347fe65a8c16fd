"""`torpor costs` shows whole figures, also on a narrow terminal."""

from dataclasses import replace
from io import StringIO

from rich.console import Console

from torpor.cli.commands.reports.cost_report import faces, models, variants
from torpor_endpoint.core.pages.costs import Costs, FaceUse, OtherModels, SizeCostsRow, VariantCostsRow
from torpor_endpoint.core.pricing.costs import ModelCosts

SIZE = SizeCostsRow("ml.m5.large", 3600.0, 0.0, 0, 1234.567891)
MODEL = ModelCosts("Houston_TX_with_a_long_name.tar.gz", 1200, 3, 0, 12.5, 1234.567891)
VARIANT = VariantCostsRow(
    "valuations",
    "AllTraffic",
    1200,
    3,
    0,
    12.5,
    1234.567891,
    0.1,
    (SIZE,),
    (MODEL,),
    OtherModels(0, 0, 0, 0, 0.0, 0.0),
    (),
)


def test_the_cost_is_whole_at_sixty_columns() -> None:
    narrow = Console(width=60, file=StringIO(), record=True)
    narrow.print(variants(Costs(0.0, 3600.0, "2026-11-01", "a list", "", (VARIANT,))))
    narrow.print(models(VARIANT))
    shown = narrow.export_text()
    assert shown.count("$1,234.57") == 3
    assert "\u2026" not in shown


def test_each_protocol_has_its_requests_and_its_part() -> None:
    own, other = FaceUse("sagemaker", 1000, 2, 0, 20.0, 10.0, 1.0), FaceUse("open-inference", 200, 1, 4, 3.0, 2.5, 0.25)
    wide = Console(width=120, file=StringIO(), record=True)
    wide.print(faces(replace(VARIANT, faces=(own, other))))
    rows = [line.split() for line in wide.export_text().splitlines()]
    assert ["sagemaker", "1,000", "2", "0", "10.000", "$1.00", "20.0", "ms"] in rows
    assert ["open-inference", "200", "1", "4", "2.500", "$0.2500", "15.0", "ms"] in rows
