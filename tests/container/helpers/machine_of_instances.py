"""A machine whose instances serve one prefix of models, and share their mapped files and verdicts."""

import tarfile
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path

from tests.container.helpers.contract_platform import Platform
from torpor_container.processes.zygote_client import ZygoteClient


class MachineOfInstances:
    def __init__(self, folder: Path, zygote: ZygoteClient) -> None:
        self.folder = folder
        self.models, self.mapped = folder / "models", folder / "mapped"
        self.models.mkdir()
        self._zygote = zygote
        self._instances = ExitStack()
        self._number = 0

    def pack(self, name: str, file: str, data: bytes) -> None:
        """Give the prefix an artifact of this name, with one file in it. It appears whole."""
        member = tarfile.TarInfo(file)
        member.size = len(data)
        with tarfile.open(self.folder / "packed", "w:gz") as archive:
            archive.addfile(member, BytesIO(data))
        (self.folder / "packed").rename(self.models / name)

    def instance(self, **settings: str) -> Platform:
        self._number += 1
        settings = {
            "TORPOR_MODEL_SOURCE": f"file://{self.models}/",
            "TORPOR_MAPPED_FOLDER": str(self.mapped),
            "TORPOR_VERDICTS_FOLDER": str(self.folder / "verdicts"),
            "TORPOR_WARM_PARENT": str(self._zygote.path),
            **settings,
        }
        platform = Platform(self.folder / f"instance-{self._number}", lambda: None, **settings)
        return self._instances.enter_context(platform)

    def files(self, ending: str) -> list[Path]:
        """The mapped files of one kind of form."""
        return list(self.mapped.glob(f"*/files/*.{ending}"))

    def close(self) -> None:
        self._instances.close()
