"""The command that starts a foreign container: read from JSON, with the places of one instance filled in."""

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import PurePosixPath
from typing import Any

from torpor_container import wire
from torpor_container.frozen_class import frozen

SAGEMAKER, OPEN_INFERENCE, LLAMA_SERVER, LLAMA_SWAP = "sagemaker", "open-inference", "llama-server", "llama-swap"
PROTOCOLS = (SAGEMAKER, OPEN_INFERENCE, LLAMA_SERVER, LLAMA_SWAP)
"""How a container of many models loads and unloads them: by SageMaker's contract, as its own model repository, or by
the calls of llama.cpp's router mode and of llama-swap."""


@frozen
class ServerCommand:
    """`files` are written to the temporary folder before the start. `ready` are the paths that must all answer 2xx.
    `opt_ml`: the processes see the instance's base folder at `/opt/ml`, in a mount namespace of their own. `protocol`
    is how it is told to load and unload models: one of PROTOCOLS.

    In arguments, values and files `{port}`, `{temp}`, `{base_dir}` and `{model_dir}` stand for those of the instance;
    `{models_dir}`, `{grpc_port}` and `{metrics_port}` for what a server of another protocol needs beside.
    """

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    ready: tuple[str, ...] = (wire.PING,)
    opt_ml: bool = False
    protocol: str = SAGEMAKER

    @classmethod
    def read(cls, text: str) -> "ServerCommand | None":
        """From `wire.ContainerCommand` as JSON; None for no text. Raises ValueError that names the member."""
        if not text:
            return None
        document = json.loads(text)
        if not isinstance(document, dict):
            raise ValueError("must be a JSON object")
        arguments = _texts(document, "command", [])
        if not arguments:
            raise ValueError("command must be a list of texts, the program first")
        files, ready = _pairs(document, "files"), _texts(document, "ready", [wire.PING])
        if not ready:
            raise ValueError("ready must name at least one path")
        for name in files:
            if not name or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ValueError(f"files: {name!r} must be a path below the temporary folder")
        opt_ml = document.get("opt_ml", False)
        if not isinstance(opt_ml, bool):
            raise ValueError("opt_ml must be true or false")
        protocol = document.get("protocol", SAGEMAKER)
        if protocol not in PROTOCOLS:
            raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}")
        return cls(arguments, _pairs(document, "environment"), files, ready, opt_ml, protocol)

    def filled(self, places: Mapping[str, str]) -> "ServerCommand":
        """The command with every known `{place}` replaced. Other braces stay as they are."""
        return ServerCommand(
            tuple(_fill(argument, places) for argument in self.arguments),
            {name: _fill(value, places) for name, value in self.environment.items()},
            {name: _fill(text, places) for name, text in self.files.items()},
            self.ready,
            self.opt_ml,
            self.protocol,
        )


def _fill(text: str, places: Mapping[str, str]) -> str:
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", place)
    return text


def _texts(document: dict[str, Any], member: str, default: list[str]) -> tuple[str, ...]:
    value = document.get(member, default)
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{member} must be a list of texts")
    return tuple(value)


def _pairs(document: dict[str, Any], member: str) -> dict[str, str]:
    value = document.get(member, {})
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError(f"{member} must be an object whose values are texts")
    return value
