"""What an actor does on its node: the folders, the environment and the process of an instance. It needs no Ray."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from torpor_container.processes.inherited_variables import inherited
from torpor_container.processes.lifeline import COMMAND, Program
from torpor_endpoint.host.disks import Disks
from torpor_endpoint.host.exits import exit_reason
from torpor_endpoint.host.ray.driver_messages import OUTPUT_MAX_BYTES, Order, slot_of
from torpor_endpoint.host.strays import end_strays

NODE_FOLDER = "TORPOR_NODE_FOLDER"
"""The variable of a node's Ray that names the folder of instances' disks and output, in place of the temporary one."""
OUTPUT_KEPT_BYTES = 32 * 1024 * 1024
END_MARGIN_S = 10.0


class NodeFolder:
    """The folder of one deployment on this machine. Only its owner may read it. Raises OSError."""

    def __init__(self, deployment: str, environment: Mapping[str, str]) -> None:
        parent = Path(environment.get(NODE_FOLDER) or tempfile.gettempdir())
        self.path = parent / f"torpor-ray-{os.getuid()}-{deployment}"
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        seen = self.path.lstat()
        if self.path.is_symlink() or seen.st_uid != os.getuid() or seen.st_mode & 0o077:
            raise PermissionError(f"{self.path} must belong to this user alone: remove it, or set {NODE_FOLDER}")
        self.disks = Disks(self.path / "disks")

    def output(self, slot: str, incarnation: str) -> Path:
        """A file for the output of a new incarnation. That of the slot's earlier ones is removed."""
        folder = self.path / "output" / slot.replace("/", ".")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        return folder / f"{incarnation}.log"

    def vacate(self, endpoint: str, variant: str | None) -> None:
        """Remove the disks of a variant, or of an endpoint."""
        shutil.rmtree(self.disks.put_aside(endpoint, variant), ignore_errors=True)

    def sweep(self, kept: Collection[tuple[str, str]]) -> None:
        """Remove the disks of all variants but these."""
        self.disks.sweep(kept)


class NodeInstance:
    """One incarnation on this machine, below a lifeline. Raises OSError, ValueError."""

    def __init__(self, order: Order, incarnation: str, secret: bytes, address: str) -> None:
        slot = slot_of(order["slot"])
        assert slot is not None, order["slot"]
        folder = NodeFolder(order["deployment"], os.environ)
        self._base_dir = base_dir = str(folder.disks.of(slot, order["role"]))
        end_strays(base_dir)  # of an incarnation whose lifeline was killed
        self.output = GrowingOutput(folder.output(order["slot"], incarnation))
        self.ended: str | None = None
        self.end = threading.Event()
        with socket.create_server((address, 0), backlog=1024) as listener:
            self.port: int = listener.getsockname()[1]
            program = Program(
                arguments=[sys.executable, "-P", "-m", "torpor_container", "serve"],
                environment=instance_environment(order, os.environ)
                | {
                    "SAGEMAKER_BASE_DIR": base_dir,
                    "TORPOR_VERDICTS_FOLDER": str(folder.disks.verdicts),
                    "TORPOR_MAPPED_FOLDER": str(folder.disks.mapped_of(slot, order["role"])),
                    "TORPOR_LISTENER": str(listener.fileno()),
                    "TORPOR_INSTANCE_SECRET": secret.hex(),
                    "TORPOR_SCRIPT_HIDDEN": os.pathsep.join(hidden_folders(order, folder.path)),
                },
                output=str(self.output.path),
                descriptors=[listener.fileno()],
            )
            self._lifeline = _lifeline(listener.fileno())
            assert self._lifeline.stdin is not None
            self._lifeline.stdin.write(json.dumps(program).encode() + b"\n")
            self._lifeline.stdin.flush()
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self, grace_s: float) -> None:
        """End it, and wait until nothing of it is left: by SIGTERM, and after `grace_s` by force."""
        assert self._lifeline.stdin is not None
        with suppress(OSError):  # it has ended already
            self._lifeline.stdin.write(f"{grace_s}\n".encode())
            self._lifeline.stdin.flush()
        self.end.wait(grace_s + END_MARGIN_S)

    def _watch(self) -> None:
        """Wait for the end. Without the lifeline's word the lifeline itself was killed."""
        assert self._lifeline.stdout is not None
        self._lifeline.wait()  # it leaves its starter at once
        reason = "its lifeline was ended"
        for line in self._lifeline.stdout:
            what, _, number = line.decode().partition(" ")
            if what == "ended":
                reason = exit_reason(int(number))
        end_strays(self._base_dir)  # that came to it otherwise, or whose lifeline was killed
        self.ended = reason
        self.end.set()


class GrowingOutput:
    """The file that an instance appends its output to, as an endless stream that is read by its offset.

    What was read goes once the file has `kept_bytes`, and what nobody has read once it has twice as much.
    """

    def __init__(self, path: Path, kept_bytes: int = OUTPUT_KEPT_BYTES) -> None:
        self.path = path
        self._kept_bytes = kept_bytes
        self._gone_bytes = 0  # of the stream, before the file's first byte
        self._asked = 0
        self._reading = threading.Lock()

    def read(self, offset: int | None) -> tuple[int, bytes]:
        """The stream from an offset on, at most 256 KiB, and where that begins; None is where the last one began."""
        with self._reading:
            self._asked = offset = max(self._asked if offset is None else offset, self._gone_bytes)
            try:
                with self.path.open("rb") as file:
                    file.seek(offset - self._gone_bytes)
                    output = file.read(OUTPUT_MAX_BYTES)
                    size = file.seek(0, os.SEEK_END)
            except FileNotFoundError:
                return offset, b""
            behind = offset + len(output) - self._gone_bytes < size
            if size > self._kept_bytes * (1 + behind):
                os.truncate(self.path, 0)  # it is appended to: no line is torn
                self._gone_bytes += size
            return offset, output


def _lifeline(listener: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(listener,), start_new_session=True
    )


def instance_environment(order: Order, environment: Mapping[str, str]) -> dict[str, str]:
    """What the instance inherits of the node's Ray, and the launch's own variables. No variable of Ray is inherited."""
    return {**inherited(environment, tuple(order["forgotten"])), **order["environment"]}


def hidden_folders(order: Order, folder: Path) -> list[str]:
    """What scripts see nothing of: the endpoint's data folder, if it is here; other instances' disks; Ray's token."""
    named = order["environment"].get("TORPOR_SCRIPT_HIDDEN", "")
    return [*filter(None, named.split(os.pathsep)), str(folder), str(Path.home() / ".ray")]
