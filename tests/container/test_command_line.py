"""The command `torpor-container`, as a person types it."""

import os
import subprocess
import sys
from pathlib import Path

import torpor_container
from torpor_container.transport.peers.credential import PeerCredential


def bare(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command, by an interpreter that sees our packages and none that they need."""
    (folder / "torpor_container").symlink_to(Path(str(torpor_container.__file__)).parent)
    command = [sys.executable, "-S", "-m", "torpor_container", *arguments]
    return subprocess.run(command, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, timeout=60)


def test_its_help_needs_no_extra(tmp_path: Path) -> None:
    shown = bare(tmp_path, "--help")
    assert shown.returncode == 0
    assert "TORPOR_MEMORY_MIB" in shown.stdout
    assert shown.stderr == ""


def test_the_command_without_its_extra_prints_one_line(tmp_path: Path) -> None:
    refused = bare(tmp_path, "serve")
    assert refused.returncode == 2
    [line] = refused.stderr.splitlines()
    assert line.startswith("torpor-container needs ")
    assert line.endswith("pip install --editable '.[container]'")


def test_a_word_that_it_does_not_know_shows_its_usage(tmp_path: Path) -> None:
    assert bare(tmp_path, "help").returncode == 2


def test_a_certificate_without_a_secret_is_refused_with_one_line(tmp_path: Path) -> None:
    """It would serve everybody, without TLS."""
    credential = PeerCredential("i-1.instance.4f1c2a9b.torpor.internal", "key", "authority", 1e12)
    command = [sys.executable, "-m", "torpor_container", "serve"]
    environment = {**os.environ, "TORPOR_PEER_TLS": credential.text(), "SAGEMAKER_BIND_TO_PORT": "0"}
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith("torpor-container: TORPOR_PEER_TLS: it needs ")
