"""The operations that jobs of every kind answer alike: create, describe, list, stop, delete. Each kind has one
`JobForm`."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

from torpor_account.aws.calls import Call, Operation
from torpor_account.aws.errors import ErrorKind
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.job_roles import CheckRole, any_role
from torpor_endpoint.services.jobs.stages import J, begun
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.listing import page
from torpor_endpoint.services.sagemaker.tag_operations import first_tags


def unchanged(job: J) -> J:
    """The job as it is."""
    return job


def every_job(jobs: Iterable[J], params: Mapping[str, Any]) -> Iterable[J]:
    """The default of `JobForm.wanted`: a list has no filters of its own."""
    return jobs


@dataclass(frozen=True)
class JobContext(Generic[J]):
    """What the operations on the jobs of one kind act on.

    `tag` is called with an ARN and the tags of a new job, `untag` with the ARN of one that is deleted, inside its
    transaction. `scripts` says whether scripts may run. `current` brings a job's record up to date; like the records it
    waits for the disk.
    """

    records: JobRecords[J]
    queue: JobQueue[J]
    tag: Callable[[str, Mapping[str, str]], None]
    untag: Callable[[str], None]
    clock: Callable[[], float]
    scripts: bool = True
    check_role: CheckRole = any_role
    current: Callable[[J], J] = unchanged


@dataclass(frozen=True)
class JobForm(Generic[J]):
    """How the operations on one kind of job are called, and what they answer.

    `noun` is the kind in their names (`TrainingJob`), `segment` the kind in ARNs; `name`, `arn` and `summaries` are
    members of their requests and answers. `exists` is given the ARN and `missing` the name. `description` and
    `summary` write a job in the API's shapes. `wanted` are the jobs that pass the filters that only this kind's list
    has.
    """

    noun: str
    job: type[J]
    segment: str
    name: str
    arn: str
    summaries: str
    exists: ErrorKind
    missing: ErrorKind
    description: Callable[[J], dict[str, Any]]
    summary: Callable[[J], dict[str, Any]]
    wanted: Callable[[Iterable[J], Mapping[str, Any]], Iterable[J]] = every_job
    deleted: bool = True
    """Whether there is an operation that deletes a job."""
    stopped_twice: bool = False
    """Whether a job that is over may be stopped, which changes nothing."""

    async def created(
        self, context: JobContext[J], call: Call, role: str, made: Callable[[J], J] = unchanged
    ) -> dict[str, Any]:
        """Answer a Create operation whose parameters were checked. `made` says what else the new record holds."""
        name = call.params[self.name]
        arn = f"arn:aws:sagemaker:{call.region}:{call.account}:{self.segment}/{name.lower()}"
        await asyncio.to_thread(context.check_role, role, arn)
        tags = first_tags(call)
        request = {member: value for member, value in call.params.items() if member not in ("Tags", self.name)}
        job = made(begun(self.job, name, arn, request, context.clock()))
        if not await asyncio.to_thread(context.records.add, job):
            raise self.exists(arn=arn)
        await asyncio.to_thread(context.tag, arn, tags)
        context.queue.begin(job)
        return {self.arn: arn}

    def found(self, context: JobContext[J], call: Call) -> J:
        """The job that the call names. Raises `missing`."""
        name = call.params[self.name]
        job = context.records.get(name)
        if job is None:
            raise self.missing(name=name)
        return job

    def operations(self) -> dict[str, Operation[JobContext[J]]]:
        """The operations beside Create, by their names."""
        alike: dict[str, Operation[JobContext[J]]] = {
            f"Describe{self.noun}": self._describe,
            f"List{self.noun}s": self._list,
            f"Stop{self.noun}": self._stop,
        }
        return {**alike, f"Delete{self.noun}": self._delete} if self.deleted else alike

    def _describe(self, context: JobContext[J], call: Call) -> dict[str, Any]:
        return self.description(context.current(self.found(context, call)))

    def _list(self, context: JobContext[J], call: Call) -> dict[str, Any]:
        jobs, token = page(self.wanted(context.records.all(), call.params), call.params)
        return {self.summaries: [self.summary(context.current(job)) for job in jobs], "NextToken": token}

    async def _stop(self, context: JobContext[J], call: Call) -> dict[str, Any]:
        job = await asyncio.to_thread(self.found, context, call)
        if job.is_over and not self.stopped_twice:
            raise INVALID(f"The request was rejected because the {job.KIND.noun} is in status {job.status}.")
        if not job.is_over:
            await context.queue.stop(job)
        return {}

    def _delete(self, context: JobContext[J], call: Call) -> dict[str, Any]:
        job = self.found(context, call)
        if not context.records.remove(job, partial(context.untag, job.arn)):
            raise INVALID(
                f"The request was rejected because the {job.KIND.noun} is in status {job.status}: only one that is "
                "over can be deleted."
            )
        return {}
