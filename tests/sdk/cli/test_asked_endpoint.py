"""Which endpoint a command asks, and what it says where the answer is a refusal."""

import json

import pytest
from typer.testing import CliRunner, Result

from tests.sdk.helpers.answering_endpoint import HEALTH, Asked, Told, answering
from torpor.cli import app
from torpor.cli.exit_codes import ExitCode

KEYS = {"AWS_ACCESS_KEY_ID": "AKIATENANT", "AWS_SECRET_ACCESS_KEY": "secret"}
CONTROL = "http://control.example:4700"
INVOKE = ("invoke", "houses", "--target-model", "b/x.tar.gz", "--body", "1")


def run(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={**KEYS, "AWS_ENDPOINT_URL": url})


def refusal(code: str, message: str) -> Told:
    headers = {"x-amzn-errortype": code, "content-type": "application/json"}
    return Told(403, json.dumps({"__type": code, "message": message}).encode(), headers)


def of_a_tenant(asked: Asked) -> Told:
    """What an endpoint answers somebody who may invoke some models, and do nothing else."""
    if asked.path.startswith("/endpoints/"):
        return refusal("AccessDeniedException", "This model is not yours.")
    if asked.path.startswith("/_torpor/"):
        return Told(403, b"These pages are not yours.")
    return refusal("AccessDeniedException", f"{asked.operation} is not yours.")


def of_a_router(asked: Asked) -> Told:
    if asked.path == "/_torpor/router":
        return Told(body=json.dumps({"control": CONTROL}).encode())
    return refusal("UnknownOperationException", "A router answers invocations alone.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (INVOKE, "This model is not yours. (AccessDeniedException of InvokeEndpoint)"),
        (("logs", "houses"), "These pages are not yours."),
        (("reload", "x", "houses"), "These pages are not yours."),
        (("costs", "houses"), "These pages are not yours."),
        (("undeploy", "houses"), "DescribeEndpoint is not yours. (AccessDeniedException of DescribeEndpoint)"),
    ],
)
def test_a_refusal_is_told_to_who_may_not_list_the_endpoints(arguments: tuple[str, ...], said: str) -> None:
    with answering(of_a_tenant) as url:
        done = run(url, *arguments)
    assert (done.exit_code, done.stderr) == (1, f"torpor: {said}\n")


def test_what_was_done_is_told_to_who_may_not_list_the_models() -> None:
    instance = {"endpoint": "houses", "variant": "All", "id": "i-1", "was": "absent", "in_flight": 0}
    retired = {"instances": [instance]}

    def answer(asked: Asked) -> Told:
        return Told(body=json.dumps(retired).encode()) if "/_torpor/reload" in asked.path else of_a_tenant(asked)

    with answering(answer) as url:
        done = run(url, "reload", "x", "houses")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "houses/All/i-1  was not in memory\n"


def test_who_may_cancel_a_request_and_not_read_it_learns_that_it_does_not_wait() -> None:
    def answer(asked: Asked) -> Told:
        return Told(body=b'{"requests": []}') if asked.method == "POST" else of_a_tenant(asked)

    with answering(answer) as url:
        done = run(url, "async", "cancel", "one")
    assert (done.exit_code, done.stderr) == (1, "torpor: one does not wait any more\n")


def test_a_refused_call_through_a_router_is_told() -> None:
    with answering(lambda asked: refusal("ThrottlingException", "Not now."), {**HEALTH, "role": "router"}) as url:
        done = run(url, *INVOKE)
    assert done.stderr.startswith("torpor: Not now. (ThrottlingException of InvokeEndpoint)")


@pytest.mark.parametrize("command", [("ls",), ("top", "--once"), ("why", "x"), ("transform", "ls"), ("async", "ls")])
def test_a_router_names_its_control(command: tuple[str, ...]) -> None:
    with answering(of_a_router, {**HEALTH, "role": "router"}) as url:
        done = run(url, *command)
    assert done.exit_code == ExitCode.UNREACHABLE
    said = f"torpor: {url} is a router, which answers invocations alone: name its control, which is {CONTROL}\n"
    assert done.stderr == said


def test_env_warns_of_a_router() -> None:
    with answering(of_a_router, {**HEALTH, "role": "router"}) as url:
        done = run(url, "env")
    assert f"export AWS_ENDPOINT_URL={url}\n" in done.stdout
    assert done.stderr.endswith(f"name its control, which is {CONTROL}\n")


def test_a_port_that_speaks_https_says_so() -> None:
    with answering(lambda asked: Told(400, b"This port speaks HTTPS: call it by https://.\n"), health=None) as url:
        done = run(url, "ls")
    secure = url.replace("http", "https")
    assert done.exit_code == ExitCode.UNREACHABLE
    assert done.stderr == f"torpor: what listens at {url} speaks HTTPS: name it as {secure}, or evaluate `torpor env`\n"


def test_a_port_that_speaks_no_https_says_so() -> None:
    with answering(of_a_tenant) as url:
        done = run(url.replace("http", "https"), "ls")
    assert done.exit_code == ExitCode.UNREACHABLE
    assert "does not speak HTTPS: try " in done.stderr
    assert url in done.stderr


def test_async_ls_of_an_endpoint_that_is_not_there_names_those_that_are() -> None:
    def answer(asked: Asked) -> Told:
        listed = {"Endpoints": [{"EndpointName": "houses"}]}
        return Told(body=json.dumps({"requests": []} if asked.method == "GET" else listed).encode())

    with answering(answer) as url:
        unknown, idle = run(url, "async", "ls", "nope"), run(url, "async", "ls", "houses")
    assert (unknown.exit_code, unknown.stderr) == (1, "torpor: there is no endpoint 'nope', only houses\n")
    assert (idle.exit_code, idle.stdout) == (0, "no asynchronous request\n")
