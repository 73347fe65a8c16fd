"""Joins what a process that shares the tests tells about a test into one message: xdist sends six, which take as much
processor time as a short test itself.

What tells of a test's course and end goes with the next message: of the next test's begin, or of the file's end. A
process that crashes has told which test it has begun, as ever.
"""

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from xdist.workermanage import WorkerController

JOINED = "joined"
"""What xdist calls a message that has others."""
WAITING = {"logfinish", "testreport"}
"""What xdist calls the messages that go with the next one."""


class JoinedMessages:
    """What a process of xdist sends."""

    def __init__(self, send: Callable[[tuple[str, dict[str, bytes]]], None]) -> None:
        self._send = send
        self._waiting: list[tuple[str, dict[str, object]]] = []

    def sendevent(self, name: str, **members: object) -> None:
        self._waiting.append((name, members))
        if name not in WAITING:
            self._send((JOINED, {"messages": pickle.dumps(self._waiting)}))
            self._waiting.clear()


def send_joined(config: pytest.Config) -> None:
    """In a process of xdist: join its messages from now on."""
    [interactor] = [plugin for plugin in config.pluginmanager.get_plugins() if hasattr(plugin, "sendevent")]
    interactor.sendevent = JoinedMessages(interactor.channel.send).sendevent


def receive_joined(node: WorkerController) -> None:
    """In the process that hands the tests out: take the joined messages of one that gets them."""
    node.process_from_remote = partial(take_apart, node.process_from_remote)


def take_apart(receive: Callable[[Any], None], message: Any) -> None:
    """Receive each message of a joined one. What is no tuple marks the end of all."""
    if isinstance(message, tuple) and message[0] == JOINED:
        for one in pickle.loads(message[1]["messages"]):
            receive(one)
    else:
        receive(message)
