"""Has TLS prepared in a process of its own: the parent of the server stays, and would keep what that imports."""

import json
import os
from collections.abc import Callable
from typing import Any

from torpor_account.tls.prepared import BadTls, PreparedTls


def prepared_apart(prepare: Callable[[], PreparedTls]) -> PreparedTls:
    """What `prepare` returns. Raises BadTls."""

    def work() -> dict[str, Any]:
        try:
            return prepare().json()
        except BadTls as error:
            return {"refused": str(error)}

    found = in_process_of_its_own(work)
    if "refused" in found:
        raise BadTls(found["refused"])
    return PreparedTls.read(found)


def in_process_of_its_own(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` returns, which must be JSON. Call it where one thread runs. Raises RuntimeError if the process ends
    without an answer; it has printed why."""
    receiving, sending = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.close(receiving)
            with os.fdopen(sending, "w") as answer:
                json.dump(work(), answer)
            status = 0
        finally:
            os._exit(status)
    os.close(sending)
    with os.fdopen(receiving) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    if not text:
        raise RuntimeError("TLS could not be prepared")
    found: dict[str, Any] = json.loads(text)
    return found
