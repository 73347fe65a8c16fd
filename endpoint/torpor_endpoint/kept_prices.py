"""The price list that the user keeps: a small file that `torpor prices update` writes and every bill is made with.

It is `torpor/prices.json` in the folder for configuration, XDG_CONFIG_HOME or `~/.config`. Without it the list that
ships is used.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from torpor_container.typed_json import read, written
from torpor_endpoint.core.pricing.price_list import PriceList
from torpor_endpoint.core.pricing.prices import PRICES, Prices


class KeptPricesUnusable(ValueError):
    """The file of the kept list cannot be used. The message is one line, which says what to do."""

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(f"{path} cannot be used ({reason}): write it with `torpor prices update FILE`, or remove it")


def kept_path(environment: Mapping[str, str] = os.environ) -> Path:
    folder = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "~"), ".config")
    return Path(folder, "torpor", "prices.json").expanduser()


def kept_prices(path: Path | None = None) -> PriceList | None:
    """The kept list; None if there is none. Raises KeptPricesUnusable."""
    path = kept_path() if path is None else path
    try:
        return read(PriceList, json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise KeptPricesUnusable(path, " ".join(str(error).split())) from error


def current_prices() -> Prices:
    """The prices of the kept list, else those that ship. Raises KeptPricesUnusable."""
    kept = kept_prices()
    return PRICES if kept is None else kept.prices


def keep(kept: PriceList, path: Path | None = None) -> Path:
    """Write the list, atomically: a failure leaves the old one. Raises OSError."""
    path = kept_path() if path is None else path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(written(kept), indent=1) + "\n", "utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
