"""Turns cold starts and costs into pandas data frames. It imports pandas when it makes the first one."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torpor.extras import require
from torpor_endpoint.core.pages.cold_starts import ColdStart

if TYPE_CHECKING:
    from torpor_endpoint.core.pages.costs import Costs, VariantCostsRow

IDLE = "(idle)"
"""In place of a model's name: the row of the cost that no model caused."""
OTHERS = "(others)"
"""In place of a model's name: the row of the models that the page sums up."""
STEPS = ("hold", "wake", "queue", "download", "unpack", "load", "predict", "stream", "overhead")


def cold_starts_frame(cold_starts: Sequence[ColdStart]) -> Any:
    """One row for each cold start. `at` is UTC; `hold_s` to `overhead_s` are the seconds of each step, or 0. Each
    container of a pipeline has a column `in_<container>` with the seconds in it, or NaN."""
    rows = [
        {
            **_plain(one),
            **{f"{step}_s": one.steps.get(step, 0.0) for step in STEPS},
            **{f"in_{container}": spent_s for container, spent_s in one.container_s.items()},
        }
        for one in cold_starts
    ]
    containers = dict.fromkeys(f"in_{container}" for one in cold_starts for container in one.container_s)
    frame = pandas().DataFrame(rows, columns=[*_PLAIN, *(f"{step}_s" for step in STEPS), *containers])
    frame["at"] = pandas().to_datetime(frame["at"], unit="s", utc=True)
    return frame


def costs_frame(costs: "Costs", by: str = "variant") -> Any:
    """One row for each `variant`, each `model`, each `line` of the bills, each inference `component` on a
    variant's instances, or each `alternative` on AWS, as `by` says.

    The rows of models include one of the idle cost, so that they add up. The frame's `attrs` give the period of the
    costs and the date and source of the prices. `shadow` marks the rows of shadow variants. An unknown price is NaN.
    Raises ValueError for another `by`.
    """
    if by not in _ROWS:
        raise ValueError(f"by is one of {', '.join(_ROWS)}, not {by!r}")
    columns, rows = _ROWS[by]
    frame = pandas().DataFrame(
        [{**{name: getattr(one, name) for name in _WHOSE}, **row} for one in costs.variants for row in rows(one)],
        columns=[*_WHOSE, *columns],
    )
    money = [name for name in columns if name.endswith("usd")]
    frame[money] = frame[money].astype(float)
    dates = ("since_s", "until_s", "priced_on", "price_source")
    frame.attrs.update({name: getattr(costs, name) for name in dates})
    return frame


def _plain(one: ColdStart) -> dict[str, Any]:
    return {**asdict(one), "at": one.at_s}


def _whole(variant: "VariantCostsRow") -> Iterator[dict[str, Any]]:
    yield {
        **asdict(variant),
        "instance_s": sum(size.instance_s for size in variant.sizes),
        "gb_s": sum(size.gb_s for size in variant.sizes),
        "moved_bytes": sum(size.moved_bytes for size in variant.sizes),
    }


def _models(variant: "VariantCostsRow") -> Iterator[dict[str, Any]]:
    yield from map(asdict, variant.models)
    if variant.others.models:
        yield {**asdict(variant.others), "model": OTHERS}
    yield {"model": IDLE, "requests": 0, "cold": 0, "errors": 0, "busy_s": 0.0, "usd": variant.idle_usd}


def _lines(variant: "VariantCostsRow") -> Iterator[dict[str, Any]]:
    return map(asdict, variant.lines)


def _components(variant: "VariantCostsRow") -> Iterator[dict[str, Any]]:
    return map(asdict, variant.components)


def _alternatives(variant: "VariantCostsRow") -> Iterator[dict[str, Any]]:
    return map(asdict, variant.on_aws)


_PLAIN = ("at", *(one.name for one in fields(ColdStart) if one.name not in ("at_s", "steps", "container_s")))
_WHOSE = ("endpoint", "variant", "shadow")
_COUNTED = ("requests", "cold", "errors", "busy_s")
_ROWS = {
    "variant": ((*_COUNTED, "instance_s", "gb_s", "moved_bytes", "usd", "idle_usd"), _whole),
    "model": (("model", *_COUNTED, "usd"), _models),
    "line": (("item", "quantity", "unit", "rate_usd", "usd", "dated", "source"), _lines),
    "component": (("component", "copy_s", "share", "usd"), _components),
    "alternative": (("way", "usd", "assumes"), _alternatives),
}


def pandas() -> Any:
    """The module pandas, which is an extra. Raises MissingExtra."""
    require("a data frame", "pandas")
    return import_module("pandas")
