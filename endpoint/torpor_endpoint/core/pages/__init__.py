"""The JSON of Torpor's own pages: each record is defined once, beside what writes it and what reads it.

The endpoint writes the pages, and the SDK reads them. An endpoint and an SDK may be of different versions: reading
passes over the fields that it does not know (`torpor_container.typed_json`).
"""

from enum import StrEnum
from typing import Any

Json = dict[str, Any]
"""One JSON object of a page."""


class PageName(StrEnum):
    """The pages below `/_torpor/`."""

    HEALTH = "health"
    METRICS = "metrics"
    ENDPOINTS = "endpoints"
    DECISIONS = "decisions"
    STORY = "story"
    LOGS = "logs"
    COLD_STARTS = "cold-starts"
    RELOAD = "reload"
    UNLOAD = "unload"
    COSTS = "costs"
    TRANSFORM_JOBS = "transform-jobs"
    ASYNC = "async"
    CANCEL = "async-cancel"
    CLOCK = "clock"
    FAULTS = "faults"
    DENIALS = "denials"
    ROUTERS = "routers"
    OWN = "own"
    VERSIONS = "versions"
    LABELS = "labels"
    ORIGIN = "origin"
    CHOICES = "choices"
    LEDGER = "ledger"
    CERTIFICATES = "certificates"


class RouterPage(StrEnum):
    """The pages below `/_torpor/` that routers call, and nobody else."""

    HELLO = "routers/hello"
    TABLE = "routers/table"
    REPORT = "routers/report"
    WAKE = "routers/wake"
    LEAVE = "routers/leave"
    FORWARD = "routers/forward"
    IDENTITIES = "routers/identities"
    ROLE_KEYS = "routers/role-keys"
    CERTIFICATE = "routers/certificate"
