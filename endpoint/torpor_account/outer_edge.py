"""The outer edge of work for whose end nobody waits: a fault is logged, and what comes after the work goes on."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torpor_account.core.outages.records_fault import RecordsFault


class OuterEdge:
    """How the work has ended."""

    fault: Exception | None = None


@contextmanager
def outer_edge(
    log: logging.Logger, text: str, *values: object, fields: Mapping[str, object] | None = None
) -> Iterator[OuterEdge]:
    """Do the block. If it fails, the log has `text` with the fault, and the edge has the fault. A fault of the records
    has no traceback, and no line if the log has their outage already."""
    edge = OuterEdge()
    try:
        yield edge
    except RecordsFault as fault:
        edge.fault = fault
        if not fault.told:
            log.error(f"{text}: %s", *values, fault, extra=fields)
    except Exception as fault:  # the one outer edge of tasks, loops and observers: the others of them must not end
        edge.fault = fault
        log.exception(text, *values, extra=fields)
