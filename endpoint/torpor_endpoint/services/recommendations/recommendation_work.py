"""Runs one recommendations job: finds the measured variant, asks the simulator, and keeps its answer."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from torpor_container.typed_json import read, written
from torpor_endpoint.core.recommendations.benchmark_records import RECOMMEND, RecommendationAnswer
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.work import Failed, client_error, finished, internal_error, unless
from torpor_endpoint.services.recommendations.measured_variants import MeasuredVariants, NotMeasured
from torpor_endpoint.services.recommendations.recommendation_question import question
from torpor_endpoint.services.recommendations.recommendation_stages import RecommendationsJob, RecommendationStage
from torpor_endpoint.simulating.simulator_process import NO_SIMULATOR, CannotSimulate, asked

WITHIN_S = 600.0


class RecommendationWork:
    """`module` simulates, None where there is none; `ledger` gives the ledger as a file, for the time of a block, and
    `flush` brings it up to date before."""

    def __init__(
        self,
        records: JobRecords[RecommendationsJob],
        variants: MeasuredVariants,
        module: str | None,
        ledger: Callable[[], AbstractContextManager[Path]],
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._records = records
        self._variants = variants
        self._module = module
        self._ledger = ledger
        self._flush = flush

    async def run(
        self, job: RecommendationsJob, stop: asyncio.Event, entered: Callable[[StrEnum], Awaitable[object]]
    ) -> RecommendationStage:
        """Run the job, and return its final stage. Call `entered` at each stage before. Raises Stopped, Failed."""
        await entered(RecommendationStage.IN_PROGRESS)
        if self._module is None:
            raise Failed(internal_error(NO_SIMULATOR))
        try:
            endpoint, variant = await finished(self._variants.found, job.request["InputConfig"])
            await self._flush()
            with ExitStack() as kept:
                path = await finished(kept.enter_context, self._ledger())
                wanted = question(job.request, endpoint.name, variant, path)
                answer = await unless(stop, asked(self._module, written(wanted), RECOMMEND, within_s=WITHIN_S))
        except (NotMeasured, CannotSimulate) as error:
            raise Failed(client_error(error)) from error
        told = read(RecommendationAnswer, answer)
        measured = (endpoint.name, variant.name)
        await finished(self._records.update, job, lambda now: replace(now, answer=told, measured=measured))
        if all(one.trouble for one in told.benchmarks):
            raise Failed(client_error(f"Nothing that was tried is a recommendation: {told.benchmarks[0].trouble}."))
        return RecommendationStage.COMPLETED

    def resumes(self, job: RecommendationsJob) -> bool:
        """Always: it changes nothing, and is simulated again."""
        return not job.is_over and job.stage is not RecommendationStage.STOPPING

    async def clear(self, job: RecommendationsJob) -> None:
        """It leaves nothing."""
