"""Reads answers of the runtime API: errors, steps of `Server-Timing`, headers."""

import json
from collections.abc import Callable
from typing import Any

import urllib3
from botocore.exceptions import ClientError


def refusal(call: Callable[[], Any]) -> dict[str, Any]:
    """The whole answer of a call that must fail."""
    try:
        call()
    except ClientError as error:
        return dict(error.response)
    raise AssertionError("the call did not fail")


def code_and_status(response: dict[str, Any]) -> tuple[str, int]:
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def steps_ms(headers: dict[str, str]) -> dict[str, float]:
    """`Server-Timing`, by step."""
    parts = (part.split(";dur=") for part in headers["server-timing"].split(", "))
    return {step: float(took_ms) for step, took_ms in parts}


def steps_of(response: dict[str, Any]) -> dict[str, float]:
    return steps_ms(response["ResponseMetadata"]["HTTPHeaders"])


def raw(url: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """The answer without an SDK: status, headers and body. An underscore in a header's name stands for a dash."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with urllib3.PoolManager() as pool:
        answer = pool.request("POST", url, body=body, headers=named, retries=False)
        return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.data


def members(body: bytes) -> dict[str, Any]:
    return dict(json.loads(body))
