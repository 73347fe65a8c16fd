"""CloudWatch Logs over a folder, in this process; the tests write the files, and say when they were written."""

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torpor_account.aws.calls import Otherwise
from torpor_account.aws.in_process import client
from torpor_account.logs.files.group_folders import Groups
from torpor_account.logs.files.log_marks import LogMarks
from torpor_account.logs.files.stream_reader import Logs
from torpor_account.logs.service import service
from torpor_account.storage.account_tables import ACCOUNT_TABLES
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.tag_store import Tags

NOON_MS = int(datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp() * 1000)
GROUP = "/aws/sagemaker/Endpoints/houses"
STREAM = "AllTraffic/i-0123456789abcdef"


@dataclass
class LogsOverFolder:
    folder: Path
    now_ms: int = NOON_MS + 3_600_000
    writing: set[Path] = field(default_factory=set)
    otherwise: Otherwise | None = None

    def __post_init__(self) -> None:
        self.groups = Groups(
            *(self.folder / name for name in ("endpoints", "components", "training", "transform", "processing"))
        )
        self.database = SqliteFile(":memory:", ACCOUNT_TABLES)
        tags = Tags(self.database)
        self.logs = Logs(self.groups, LogMarks(), tags, lambda: self.now_ms / 1000, lambda: self.writing)
        self.service = service(self.logs, account="123456789012", otherwise=self.otherwise)

    def client(self) -> Any:
        return client(self.service)

    def path(self, stream: str = STREAM, group: str = GROUP) -> Path:
        place = self.groups.place(group).folder / f"{stream}.log"
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def say(self, text: str, at_ms: int, stream: str = STREAM, group: str = GROUP) -> Path:
        """Appends the text at `at_ms`, as an instance does; the chore notes it in that second."""
        log = self.path(stream, group)
        with log.open("a") as file:
            file.write(text)
        os.utime(log, ns=(at_ms * 1_000_000, at_ms * 1_000_000))
        self.logs.marks.noted(log)
        return log
