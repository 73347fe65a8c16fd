"""What the dashboard asks a simulator, and what it gets: one variant's last day, served in other ways."""

from dataclasses import dataclass, field

from torpor_endpoint.core.variant_setup import VariantSetup


@dataclass(frozen=True)
class WhatIfQuestion:
    """One variant as it is now."""

    ledger: str  # the path of the ledger's file
    endpoint: str
    variant: str
    last_s: float  # how much of its past is simulated
    setup: VariantSetup = field(default_factory=VariantSetup)


@dataclass(frozen=True)
class WhatIfRow:
    """The outcome of one way to serve the requests. None where it is not known; `trouble` says why there is none."""

    way: str
    hit_ratio: float | None = None
    p99_s: float | None = None
    usd_per_day: float | None = None
    wakes: int | None = None
    assumes: str = ""
    trouble: str = ""


@dataclass(frozen=True)
class WhatIfAnswer:
    """All ways, the first of them as it is now; and what was assumed, a line each."""

    requests: int
    rows: tuple[WhatIfRow, ...]
    notes: tuple[str, ...] = ()
