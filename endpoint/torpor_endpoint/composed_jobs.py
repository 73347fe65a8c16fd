"""Composes the parts of jobs for an endpoint. It is imported when the first job needs it."""

from functools import partial
from typing import TYPE_CHECKING

from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.services.job_parts import JobParts, JobSite
from torpor_endpoint.services.jobs.scripts.script_runs import without_credentials
from torpor_endpoint.services.pipelines.running.sagemaker_calls import everything
from torpor_endpoint.simulating.ledger_file import ledger_file

if TYPE_CHECKING:
    from torpor_endpoint.endpoint_parts import EndpointParts


def composed_jobs(parts: "EndpointParts", launching: InstanceFactory) -> JobParts:
    """The parts of jobs. `launching` launches the instances of transform jobs."""
    site = JobSite(
        database=parts.account.database,
        clock=parts.clock.epoch,
        folders=parts.folders,
        storage=parts.account.storage,
        as_role=parts.as_role,
        role_access=everything if parts.role_parts is None else parts.role_parts.roles.assumed,
        credentials=without_credentials if parts.role_parts is None else parts.role_parts.lent,
        surroundings=parts.surroundings,
        fork=parts.warm_parent.fork_untold,
        factory=launching,
        vacate=parts.host.vacate,
        lived=parts.ledger.lived,
        registry=parts.account.registry,
        noted=parts.account.log_marks.noted,
        strict=parts.options.strict,
        sagemaker=lambda: parts.jobs.sagemaker,
        traces=None if parts.telemetry is None else partial(parts.telemetry.payloads, parts.clock.epoch),
        store=parts.store,
        simulator=parts.options.what_if,
        analyzer=parts.options.analyzer,
        ledger=partial(ledger_file, parts),
        flush_ledger=parts.flush_ledger,
    )
    return JobParts(site)
