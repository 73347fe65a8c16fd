"""Runs one execution of a pipeline: begins its steps as soon as those before them have succeeded."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any

from torpor_endpoint.core.pipelines.pipeline_course import StepSeen, StepStatus, advance
from torpor_endpoint.core.pipelines.pipeline_definition import read_definition
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.work import Failed, Stopped, finished
from torpor_endpoint.services.pipelines.pipeline_records import BegunStep, ExecutionStage, PipelineExecution
from torpor_endpoint.services.pipelines.running.step_running import NoteStep, StepRun, StepSite, scope_of

PARALLEL = 50
"""The most steps that run at once without a ParallelismConfiguration."""


class ExecutionWork:
    """What an execution does when its turn has come. `site` is made with `note`, which records a step."""

    def __init__(self, records: JobRecords[PipelineExecution], site: Callable[[NoteStep], StepSite]) -> None:
        self._records = records
        self._site = site(self._note)

    async def run(
        self, job: PipelineExecution, stop: asyncio.Event, entered: Callable[[StrEnum], Awaitable[object]]
    ) -> ExecutionStage:
        """As `JobWork` has it."""
        if job.stage is ExecutionStage.WAITING:
            await entered(ExecutionStage.EXECUTING)
        course = ExecutionCourse(job, self._site)
        try:
            await course.run(stop)
        finally:
            await course.leave()
        failed = [step for step in course.steps.values() if step.status in ("Failed", "Stopped")]
        if stop.is_set():
            raise Stopped
        if failed:
            why = failed[0].failure_reason or "it was stopped"
            raise Failed(f"Step failure: One or multiple steps failed. {failed[0].name}: {why}")
        return ExecutionStage.SUCCEEDED

    def resumes(self, job: PipelineExecution) -> bool:
        """An execution that ran goes on: with the jobs of its steps, and those that such a step failed by."""
        return job.stage is ExecutionStage.EXECUTING

    async def clear(self, job: PipelineExecution) -> None:
        """Note that the steps of an interrupted execution have stopped."""

        def stopped(now: PipelineExecution) -> PipelineExecution:
            now_s = self._site.clock()
            ended = [step if step.is_over else replace(step, status="Stopped", ended_s=now_s) for step in now.steps]
            return replace(now, steps=tuple(ended))

        await finished(self._records.update, job, stopped)

    async def _note(self, execution: PipelineExecution, step: BegunStep) -> None:
        def noted(now: PipelineExecution) -> PipelineExecution:
            others = {one.name: one for one in now.steps}
            return replace(now, steps=tuple({**others, step.name: step}.values()))

        await finished(self._records.update, execution, noted)


class ExecutionCourse:
    """The course of one execution. `steps` are those that have begun."""

    def __init__(self, job: PipelineExecution, site: StepSite) -> None:
        self.steps = {step.name: step for step in job.steps}
        self._job = job
        self._site = site
        self._definition = read_definition(job.request["PipelineDefinition"])
        limits = job.request.get("ParallelismConfiguration", {})
        self._parallel = limits.get("MaxParallelExecutionSteps", PARALLEL)
        self._running: dict[asyncio.Task[BegunStep], StepRun] = {}

    async def run(self, stop: asyncio.Event) -> None:
        stopped, told = asyncio.ensure_future(stop.wait()), False
        try:
            for step in list(self.steps.values()):
                if not step.is_over:  # from a life of the endpoint before this one
                    self._go_on(step)
            while True:
                plan = advance(self._definition, self._seen(), self._parallel, stop.is_set())
                if plan.over:
                    return
                for name in plan.begin:
                    await self._begin(name)
                if stop.is_set() and not told:
                    told = True
                    for run in self._running.values():
                        await run.stop()
                waits: set[asyncio.Future[Any]] = {*self._running, *(() if told else (stopped,))}
                done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for task in [task for task in self._running if task in done]:
                    await self._ended(self._running.pop(task), task)
        finally:
            stopped.cancel()

    async def leave(self) -> None:
        """Wait no longer for steps."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _begin(self, name: str) -> None:
        step = self.steps[name] = BegunStep(name, self._site.clock())
        await self._site.note(self._job, step)
        self._go_on(step)

    def _go_on(self, step: BegunStep) -> None:
        run = StepRun(self._site, self._job, self._definition.step(step.name), step)
        scope = scope_of(self._job, self._definition, self.steps, self._site.clock())
        self._running[asyncio.ensure_future(run.run(scope))] = run

    async def _ended(self, run: StepRun, task: asyncio.Task[BegunStep]) -> None:
        step = self.steps[run.record.name] = task.result()
        await self._site.note(self._job, step)

    def _seen(self) -> dict[str, StepSeen]:
        return {name: StepSeen(StepStatus(step.status), step.outcome) for name, step in self.steps.items()}
