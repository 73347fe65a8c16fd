"""The times of a profile: what is assumed of each, and which the ledger has as steps."""

from collections.abc import Mapping
from dataclasses import fields

from torpor.workloads.profile import ModelProfile
from torpor_container.wire import WaitStep

TIMES: Mapping[str, float] = {one.name: one.default for one in fields(ModelProfile) if isinstance(one.default, float)}
"""A profile's times, with the value that is assumed if nothing is known."""
BROUGHT: Mapping[str, WaitStep] = {
    "download_s": WaitStep.DOWNLOAD,
    "unpack_s": WaitStep.UNPACK,
    "load_s": WaitStep.LOAD,
}
"""The times that are steps of a request that loads its model."""
DELAYS: Mapping[str, str] = {"unpack_s": "unpack_delay_s", "load_s": "load_delay_s"}
"""The times that are work if they were measured, and the delay that belongs to each."""
FITTED = (*BROUGHT, *DELAYS.values())
WAITS = frozenset({"download_s", *DELAYS.values()})
"""The times that are waits: a busy machine makes them longer, and by how much is not measured."""
