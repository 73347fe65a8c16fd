"""`torpor costs` shows whole figures, also on a narrow terminal."""

from io import StringIO

from rich.console import Console

from torpor.cli.commands.reports.costs import models, variants
from torpor_endpoint.core.pages.costs import Costs, OtherModels, SizeCostsRow, VariantCostsRow
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
