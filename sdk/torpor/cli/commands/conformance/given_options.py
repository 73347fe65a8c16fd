"""What the options give: the rules, the models, the bodies. Each error names its option."""

import difflib
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torpor.cli.arguments import existing_file
from torpor.cli.commands.studies.replay import typed
from torpor.conformance.container import Material, UseCase
from torpor.conformance.protocols import PROTOCOL_RULES, PROTOCOLS
from torpor.conformance.rule import Rule
from torpor.conformance.rules import RULES
from torpor.conformance.sample_inputs import DEFAULT_SAMPLE, ModelArtifact, Sample, unpacked
from torpor.errors import TorporError


@dataclass(frozen=True)
class Given:
    """The options that say what is sent and loaded, as they were typed."""

    models: Sequence[str]
    too_large: str | None
    models_dir: Path | None
    body: Path | None
    slow_body: Path | None
    stream_body: Path | None
    content_type: str | None
    listed_models: int
    headers: Sequence[str] = ()

    @contextmanager
    def material(self, protocol: str | None = None) -> Iterator[Material]:
        """Archives are unpacked, for the block if no folder was named. Of a protocol, what is sent to a model that the
        server has. Raises TorporError."""
        if protocol is not None:
            yield self._of_protocol(protocol)
            return
        if self.headers:
            raise TorporError("--header goes with --protocol: SageMaker's own headers are those of its contract")
        with tempfile.TemporaryDirectory(prefix="torpor-models-") as temporary:
            Path(temporary).chmod(0o755)  # a container may have another user
            models_dir = self.models_dir or Path(temporary)
            yield Material(
                sample=self._sample("--body", self.body) or DEFAULT_SAMPLE,
                slow=self._sample("--slow-body", self.slow_body),
                stream=self._sample("--stream-body", self.stream_body),
                models=[artifact("--model", text, models_dir) for text in self.models],
                too_large=artifact("--too-large", self.too_large, models_dir) if self.too_large else None,
                listed_models=self.listed_models,
            )

    def _of_protocol(self, protocol: str) -> Material:
        of_contract = {
            "--too-large": self.too_large,
            "--models-dir": self.models_dir,
            "--slow-body": self.slow_body,
            "--stream-body": self.stream_body,
            "--content-type": self.content_type,
        }
        if other := next((option for option, value in of_contract.items() if value), None):
            raise TorporError(f"{other} is of SageMaker's contract: it does not go with --protocol {protocol}")
        if len(self.models) != 1:
            raise TorporError(f"--protocol {protocol}: name one model that the server has, as --model iris")
        if self.body is not None:
            existing_file("--body", self.body)
        body = b"" if self.body is None else self.body.read_bytes()
        return Material(served=self.models[0], request=body, headers=dict(map(_header, self.headers)))

    def _sample(self, option: str, file: Path | None) -> Sample | None:
        if file is None:
            return None
        existing_file(option, file)
        return Sample(typed(file, self.content_type), file.read_bytes())


def chosen(only: Sequence[str], skip: Sequence[str], protocol: str | None = None) -> list[Rule]:
    """The rules of `--only` without those of `--skip`, of the contract or of a protocol. Raises TorporError for an
    unknown one."""
    rules = {one.id: one for one in rules_of(protocol)}
    for option, ids in (("--only", only), ("--skip", skip)):
        for id in ids:
            if id not in rules:
                near = " or ".join(difflib.get_close_matches(id, rules, 2))
                hint = f": do you mean {near}?" if near else ": `torpor conformance --list` shows the rules"
                raise TorporError(f"{option} {id} is no rule{hint}")
    found = [rule for rule in rules.values() if (not only or rule.id in only) and rule.id not in skip]
    if not found:
        raise TorporError("--only and --skip leave no rule to check")
    return found


def rules_of(protocol: str | None) -> Sequence[Rule]:
    """Those of SageMaker's contract, or of this protocol. Raises TorporError for one that is not known."""
    if protocol is None:
        return RULES
    if protocol not in PROTOCOLS:
        raise TorporError(f"--protocol is {' or '.join(PROTOCOLS)}, not {protocol}")
    return [one for one in PROTOCOL_RULES if UseCase(protocol) in one.uses]


def _header(text: str) -> tuple[str, str]:
    """One of `--header`. Raises TorporError."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise TorporError(f"--header {text} is not NAME:VALUE, such as X-Torpor-Endpoint:houses")
    return name.strip(), value.strip()


def artifact(option: str, text: str, models_dir: Path) -> ModelArtifact:
    """The model of `--model` or `--too-large`, unpacked. Raises TorporError."""
    target, _, path = text.partition("=")
    if not target or not path:
        raise TorporError(f"{option} {text} is not NAME=PATH, such as Houston_TX.tar.gz=models/Houston_TX.tar.gz")
    if not Path(path).exists():
        raise TorporError(f"{option} {text}: there is no {path}; the container has to see it under the same path")
    try:
        return unpacked(target, Path(path), models_dir)
    except (OSError, tarfile.TarError) as error:
        raise TorporError(f"{option} {text}: {path} is neither a folder nor a tar archive: {error}") from error
