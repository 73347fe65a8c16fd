"""The folders of a processing job, which are below `/opt/ml` in AWS's containers, and below `root` here."""

import json
from dataclasses import dataclass
from pathlib import Path

from torpor_endpoint.services.jobs.scripts.script_command import OPT_ML
from torpor_endpoint.services.processing.lifecycle import ProcessingJob
from torpor_endpoint.services.processing.rules import LOCAL
from torpor_endpoint.services.training.running.toolkit import HOST

MESSAGE_MAX = 1024
"""The most characters of an ExitMessage."""


@dataclass(frozen=True)
class ProcessingFolders:
    root: Path

    @property
    def processing(self) -> Path:
        return self.place(LOCAL)

    @property
    def packages(self) -> Path:
        """Where `pip install` of a script puts packages: they go with the job."""
        return self.root / "packages"

    @property
    def _message(self) -> Path:
        """ "a string, up to one KB, that contains metadata from the processing container when it exits" """
        return self.root / "output" / "message"

    def place(self, local: str) -> Path:
        """The folder of a path in AWS's containers. The path is below `/opt/ml`."""
        return self.root / local.removeprefix(f"{OPT_ML}/")

    def make(self, job: ProcessingJob) -> None:
        """Make the folders of the job, and the files of `config`."""
        self.packages.mkdir(parents=True)
        self._message.parent.mkdir()
        for given in job.request.get("ProcessingInputs", ()):
            self.place(given["S3Input"]["LocalPath"]).mkdir(parents=True, exist_ok=True)
        for given in job.request.get("ProcessingOutputConfig", {}).get("Outputs", ()):
            self.place(given["S3Output"]["LocalPath"]).mkdir(parents=True, exist_ok=True)
        self.processing.mkdir(parents=True, exist_ok=True)
        config = self.root / "config"
        config.mkdir()
        (config / "processingjobconfig.json").write_text(
            json.dumps({"ProcessingJobName": job.name, "ProcessingJobArn": job.arn, **job.request})
        )
        (config / "resourceconfig.json").write_text(json.dumps({"current_host": HOST, "hosts": [HOST]}))

    def message(self) -> str:
        """What the script wrote to be the ExitMessage; empty if nothing."""
        try:
            with self._message.open(errors="replace") as file:
                return file.read(MESSAGE_MAX).strip()
        except OSError:
            return ""
