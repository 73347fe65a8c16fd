"""Brings a job's code and data into its folder, and its results to S3.

A transfer that runs when the job is stopped is finished first: nothing writes into a folder while it is removed.
"""

import json
import shutil
from pathlib import Path

from torpor_account.s3.access.embedded import Storage, StorageError
from torpor_account.storage.outage_log import OutageLog
from torpor_endpoint.services.jobs.s3_inputs import InputMissing, fetched, split
from torpor_endpoint.services.jobs.work import finished, outlasting
from torpor_endpoint.services.training.lifecycle import TrainingJob
from torpor_endpoint.services.training.running.toolkit import (
    PROGRAM,
    SUBMIT_DIRECTORY,
    ToolkitFolders,
    configuration,
    decoded,
    within_channel,
)

UNDELIVERED = OutageLog("results of training jobs wait to be written", "results of training jobs are written again")


class Transport:
    """Acts as the role of one job."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def check_output(self, job: TrainingJob) -> None:
        """Raises StorageError if the job's role may not write the model: better now than after the training."""
        await finished(self._storage.check_writable, *split(f"{results(job)}/model.tar.gz"))

    async def bring(self, job: TrainingJob, layout: ToolkitFolders) -> None:
        """Make the job's folder: configuration, code and channels. Raises InputMissing."""
        await finished(_begin, job, layout)
        hyperparameters = decoded(job.request.get("HyperParameters", {}))
        try:
            for channel in job.request.get("InputDataConfig", ()):
                url = channel["DataSource"]["S3DataSource"]["S3Uri"]
                await fetched(self._storage, url, layout.channel(channel["ChannelName"]))
            if hyperparameters.get(PROGRAM):
                await self._bring_code(hyperparameters[SUBMIT_DIRECTORY], layout)
        except (StorageError, OSError) as error:
            raise InputMissing(f"Data download failed: {error}") from error

    async def deliver(self, folder: Path, url: str) -> None:
        """Pack the contents of a folder, if it has any, and put the archive to S3. While the machine fails, it waits: a
        training is not done twice. Raises StorageError, OSError."""
        from torpor_endpoint.services.training.running.archives import pack

        packed = folder.with_name(f"{folder.name}.tar.gz")
        if await outlasting(UNDELIVERED, lambda: finished(pack, folder, packed)):
            await outlasting(UNDELIVERED, lambda: finished(self._storage.put, packed, *split(url)))

    async def _bring_code(self, url: str, layout: ToolkitFolders) -> None:
        from torpor_endpoint.services.training.running.archives import Unreadable, unpack

        place = within_channel(url)
        if place is not None:
            archive = layout.channel(place[0]) / place[1]
            _check_within(archive, layout.channel(place[0]), url)
            if archive.is_dir():
                await finished(shutil.copytree, archive, layout.code, dirs_exist_ok=True)
                return
        else:
            archive = layout.root / "sourcedir.tar.gz"
            await finished(self._storage.fetch, *split(url), archive)
        try:
            await finished(unpack, archive, layout.code)
        except Unreadable as error:
            raise InputMissing(f"{url} cannot be unpacked: {error}") from error


def _check_within(path: Path, folder: Path, name: str) -> None:
    """Raises InputMissing if the path is not there, or leads out of the folder."""
    if ".." in path.parts or not path.exists():
        raise InputMissing(f"There is no {name}: the channel {folder.name} does not have it.")


def results(job: TrainingJob) -> str:
    """The address below which the job's results go."""
    return f"{job.request['OutputDataConfig']['S3OutputPath'].rstrip('/')}/{job.name}/output"


def _begin(job: TrainingJob, layout: ToolkitFolders) -> None:
    layout.make()
    for name, content in configuration(job).items():
        (layout.config / name).write_text(json.dumps(content))
