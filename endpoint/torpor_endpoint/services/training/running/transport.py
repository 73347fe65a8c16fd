"""Brings a job's code and data into its folder, and its results to S3.

A transfer that runs when the job is stopped is finished first: nothing writes into a folder while it is removed.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torpor_account.s3.access.embedded import Storage, StorageError
from torpor_account.storage.outage_log import OutageLog
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


class InputMissing(Exception):
    """An input of the job is missing or malformed. The text tells a person which."""


class Transport:
    """Acts as the role of one job."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def check_output(self, job: TrainingJob) -> None:
        """Raises StorageError if the job's role may not write the model: better now than after the training."""
        await finished(self._storage.check_writable, *_split(f"{results(job)}/model.tar.gz"))

    async def bring(self, job: TrainingJob, layout: ToolkitFolders) -> None:
        """Make the job's folder: configuration, code and channels. Raises InputMissing."""
        await finished(_begin, job, layout)
        hyperparameters = decoded(job.request.get("HyperParameters", {}))
        try:
            for channel in job.request.get("InputDataConfig", ()):
                await self._bring_channel(channel, layout.channel(channel["ChannelName"]))
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
            await outlasting(UNDELIVERED, lambda: finished(self._storage.put, packed, *_split(url)))

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
            await finished(self._storage.fetch, *_split(url), archive)
        try:
            await finished(unpack, archive, layout.code)
        except Unreadable as error:
            raise InputMissing(f"{url} cannot be unpacked: {error}") from error

    async def _bring_channel(self, channel: Mapping[str, Any], folder: Path) -> None:
        url = channel["DataSource"]["S3DataSource"]["S3Uri"]
        bucket, prefix = _split(url)
        keys = await finished(self._storage.keys, bucket, prefix)
        files = {key: place(key, prefix) for key in keys if not key.endswith("/")}
        if not files:
            raise InputMissing(f'No S3 objects found under S3 URL "{url}" given in input data source.')
        for key, path in files.items():
            await finished(self._fetch, bucket, key, folder / path)

    def _fetch(self, bucket: str, key: str, into: Path) -> None:
        into.parent.mkdir(parents=True, exist_ok=True)
        self._storage.fetch(bucket, key, into)


def _check_within(path: Path, folder: Path, name: str) -> None:
    """Raises InputMissing if the path is not there, or leads out of the folder."""
    if ".." in path.parts or not path.exists():
        raise InputMissing(f"There is no {name}: the channel {folder.name} does not have it.")


def place(key: str, prefix: str) -> str:
    """An object's path in the channel's folder: the key's part below the prefix, or below the prefix's folder.

    Raises InputMissing for a key that leads out of the folder.
    """
    above = prefix.removesuffix("/") + "/"
    if not key.startswith(above):
        above = prefix[: prefix.rfind("/") + 1]
    path = key.removeprefix(above).lstrip("/")
    if ".." in path.split("/") or "\0" in path:
        raise InputMissing(f"The key {key!r} is no path within a channel's folder.")
    return path


def results(job: TrainingJob) -> str:
    """The address below which the job's results go."""
    return f"{job.request['OutputDataConfig']['S3OutputPath'].rstrip('/')}/{job.name}/output"


def _split(url: str) -> tuple[str, str]:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key


def _begin(job: TrainingJob, layout: ToolkitFolders) -> None:
    layout.make()
    for name, content in configuration(job).items():
        (layout.config / name).write_text(json.dumps(content))
