"""Maps log groups to folders, and log streams to files.

All groups below `ENDPOINTS` and `COMPONENTS`, and those of jobs, are Torpor's. The others are moto's.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from torpor_account.aws.calls import NotOurs
from torpor_account.core.access.rights.log_group_names import log_group_name
from torpor_account.logs import errors
from torpor_container.frozen_class import frozen

ENDPOINTS = "/aws/sagemaker/Endpoints/"
COMPONENTS = "/aws/sagemaker/InferenceComponents/"
TRAINING = "/aws/sagemaker/TrainingJobs"
TRANSFORM = "/aws/sagemaker/TransformJobs"
PROCESSING = "/aws/sagemaker/ProcessingJobs"
OF_JOBS = (PROCESSING, TRAINING, TRANSFORM)
"""In order of name."""

NAME = r"[a-zA-Z0-9][a-zA-Z0-9-]{0,62}"
GROUP = re.compile(rf"(?:({ENDPOINTS})|({COMPONENTS}))({NAME})|{'|'.join(OF_JOBS)}")
STREAM = re.compile(rf"{NAME}/{NAME}(?:/{NAME})?")
"""A variant's or a job's instance, or one container of several of an instance."""


def is_ours(name: str) -> bool:
    return name.startswith((ENDPOINTS, COMPONENTS)) or name in OF_JOBS


@frozen
class Stream:
    name: str
    log: Path


@frozen
class LogGroup:
    name: str
    folder: Path

    def streams(self) -> list[Stream]:
        """All streams, in order of name."""
        logs = self.folder.rglob("*.log")
        found = [Stream(str(log.relative_to(self.folder).with_suffix("")), log) for log in logs]
        return sorted(found, key=lambda stream: stream.name)

    def stream(self, name: str) -> Stream:
        """The stream of this name. Raises ResourceNotFoundException."""
        stream = Stream(name, self.folder / f"{name}.log") if STREAM.fullmatch(name) else None
        if stream is None or not stream.log.is_file():
            raise errors.NO_STREAM()
        return stream


@frozen
class Groups:
    """All groups. `endpoints` has a folder for each endpoint, and `components` for each inference component, with one
    for each variant; the others have one per job."""

    endpoints: Path
    components: Path
    training: Path
    transform: Path
    processing: Path

    def place(self, identifier: str) -> LogGroup:
        """The group of this name or ARN, which need not exist. Raises NotOurs, or ResourceNotFoundException."""
        name = log_group_name(identifier)
        if not is_ours(name):
            raise NotOurs
        found = GROUP.fullmatch(name)
        if found is None:  # no endpoint can have this name
            raise errors.NO_GROUP()
        if found[3]:
            return LogGroup(name, (self.endpoints if found[1] else self.components) / found[3])
        return LogGroup(name, self._of_jobs()[name])

    def find(self, identifier: str) -> LogGroup:
        """The existing group of this name or ARN. Raises NotOurs, or ResourceNotFoundException."""
        group = self.place(identifier)
        if not group.folder.is_dir():
            raise errors.NO_GROUP()
        return group

    def all(self) -> Iterator[LogGroup]:
        """All groups, in order of name."""
        for prefix, parent in ((ENDPOINTS, self.endpoints), (COMPONENTS, self.components)):
            for folder in sorted(parent.glob("*")):
                if folder.is_dir():
                    yield LogGroup(f"{prefix}{folder.name}", folder)
        for name, folder in self._of_jobs().items():
            if folder.is_dir():
                yield LogGroup(name, folder)

    def _of_jobs(self) -> dict[str, Path]:
        return dict(zip(OF_JOBS, (self.processing, self.training, self.transform), strict=True))
