"""The report of an instance without models, and a model of such a report, for fakes that change some of it."""

from torpor_container import wire

NOTHING: wire.InstanceStatus = {
    "unready": None,
    "fault": None,
    "kept": True,
    "models": [],
    "budget_bytes": 0,
    "used_bytes": 0,
    "waiting": 0,
    "disk_bytes": 0,
    "disk_budget_bytes": 0,
    "cpu_s": 0.0,
    "decisions": [],
    "last_seq": 0,
}
MODEL: wire.LoadedModel = {
    "name": "a",
    "size_bytes": 1,
    "in_flight": 0,
    "idle_s": 0.0,
    "format": "xgboost",
    "hits": 1,
}
