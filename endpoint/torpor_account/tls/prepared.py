"""What preparing TLS finds, and how it fails: values alone, so that the parent of a server imports little."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpor_container.http.server import TlsFiles


class BadTls(Exception):
    """TLS cannot be spoken with these options. The message begins with the flag at fault."""


@dataclass(frozen=True)
class PreparedTls:
    """The files of the server; the name by which this machine's programs call it; and what they trust it by, which is
    None where every client does anyway."""

    files: TlsFiles
    called: str
    trusted: Path | None = None
    warnings: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """What `read` reads."""
        files = [str(self.files.certificate), str(self.files.key)]
        return {
            "files": files,
            "called": self.called,
            "trusted": self.trusted and str(self.trusted),
            "warnings": self.warnings,
        }

    @classmethod
    def read(cls, json: Mapping[str, Any]) -> "PreparedTls":
        trusted, warnings = json["trusted"], json["warnings"]
        return cls(TlsFiles(*map(Path, json["files"])), json["called"], trusted and Path(trusted), tuple(warnings))
