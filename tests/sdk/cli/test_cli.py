"""The `torpor` command: against a live endpoint, and against none."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5, sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from rich.console import Console
from typer.main import get_command
from typer.testing import CliRunner, Result

import torpor
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.calling.connection import without_proxy
from torpor.calling.defaults import URL
from torpor.cli import app
from torpor.cli.commands.logs import NOTHING, with_silence
from torpor.cli.commands.reports.ls import table
from torpor.cli.commands.up import next_step
from torpor.cli.exit_codes import ExitCode
from torpor.hosting.endpoint_deployment import EndpointPlan, deploy, withdraw
from torpor.hosting.endpoint_process import ChildEndpoint, Start
from torpor.hosting.shared_process import SharedProcess
from torpor_endpoint.core.pages.state import ContainerState, EndpointState, InstanceState, ResidentModel, VariantState
from torpor_endpoint.core.pages.story import Story
from torpor_endpoint.options import OPTIONS

ROW = ",".join(map(str, ROWS[0]))
Run = Callable[..., Result]
NOBODY = "there is no endpoint 'nobody', only shared"


@pytest.fixture
def run(endpoint: torpor.Local) -> Run:
    """The command, pointed at the live endpoint."""
    return lambda *arguments: CliRunner().invoke(app, list(arguments), env={"AWS_ENDPOINT_URL": endpoint.url})


@contextmanager
def something_else(status: int, body: bytes) -> Iterator[str]:
    """A server that answers every GET so."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *what: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))  # how often it looks whether to end
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert CliRunner().invoke(app, ["--version"]).stdout == f"torpor {project['version']}\n"


@pytest.mark.parametrize("arguments", [["-h"], ["ls", "-h"], ["async", "ls", "-h"]])
def test_a_short_option_shows_the_help(arguments: list[str]) -> None:
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0
    assert shown.stdout == CliRunner().invoke(app, [*arguments[:-1], "--help"]).stdout


IMPORTED = """
import sys
from torpor.cli import app
try:
    app(["ls"])
except SystemExit as end:
    print(end.code, *sorted(name for name in sys.modules if name.startswith(("torpor.cli.commands.", "boto"))))
"""


def test_a_command_imports_what_it_needs_alone(endpoint: torpor.Local) -> None:
    """`torpor ls` waits neither for the other commands nor for boto3's models of AWS's services."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        env={**os.environ, **endpoint.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "shared  InService" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 torpor.cli.commands.reports torpor.cli.commands.reports.ls"


@pytest.mark.parametrize(
    "arguments",
    [
        ["ls"],
        *(
            pytest.param(other, marks=pytest.mark.thorough)
            for other in (["metrics", "shared"], ["cold-starts", "shared"], ["--help"])
        ),
    ],
)
def test_a_reader_that_has_enough_gets_no_traceback(endpoint: torpor.Local, arguments: list[str]) -> None:
    """As `torpor metrics | head` does."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "torpor", *arguments],
            env={**os.environ, **endpoint.environment},
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.stderr == ""


def test_env_prints_what_a_shell_needs(run: Run, endpoint: torpor.Local) -> None:
    done = run("env")
    assert done.stdout.splitlines()[0] == f"export AWS_ENDPOINT_URL={endpoint.url}"
    assert {"export AWS_DEFAULT_REGION=us-east-1", "export AWS_REGION=us-east-1"} <= set(done.stdout.splitlines())
    assert done.stderr == ""


def test_env_adds_its_host_to_no_proxy_and_keeps_the_other_hosts() -> None:
    shell = {"no_proxy": "internal.example", "NO_PROXY": "internal.example", "http_proxy": "http://127.0.0.1:9"}
    printed = CliRunner().invoke(app, ["env", "--url", "http://127.0.0.1:9"], env=shell).stdout.splitlines()
    assert {"export NO_PROXY=internal.example,127.0.0.1", "export no_proxy=internal.example,127.0.0.1"} <= set(printed)


@pytest.mark.parametrize(
    ("url", "present", "told"),
    [
        ("http://127.0.0.1:1", "", "127.0.0.1"),
        ("http://localhost:1", "localhost", "localhost"),
        ("http://[::1]:1", "a, b", "a,b,::1"),
        ("http://127.0.0.1:1", "*", "*"),
        ("http://there.example", "a", None),
        ("http://[", "a", None),
    ],
)
def test_a_proxy_is_passed_by_on_this_machine_alone(url: str, present: str, told: str | None) -> None:
    assert without_proxy(url, {"NO_PROXY": present}).get("no_proxy") == told


def test_env_prints_the_endpoints_region_and_not_the_shells() -> None:
    shell = {"AWS_DEFAULT_REGION": "us-west-2"}
    with ChildEndpoint(Start(region="eu-west-1")) as process:
        printed = CliRunner().invoke(app, ["env", "--url", process.until_ready().url], env=shell).stdout
    assert "export AWS_REGION=eu-west-1\n" in printed
    assert "us-west-2" not in printed


def test_env_warns_of_an_unreachable_endpoint(run: Run) -> None:
    done = run("env", "--url", "http://127.0.0.1:9")
    assert (done.exit_code, done.stderr.count("\n")) == (0, 1)
    assert "start one with `torpor up`" in done.stderr
    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:9" in done.stdout


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>"), (200, b"[]"), (404, b"<Error/>")])
def test_env_warns_of_a_server_that_is_no_endpoint_of_torpor(run: Run, status: int, body: bytes) -> None:
    with something_else(status, body) as url:
        env, ls = run("env", "--url", url), run("ls", "--url", url)
    assert env.stderr == ls.stderr == f"torpor: what answers at {url} is not an endpoint of Torpor: name another URL\n"
    assert (env.exit_code, ls.exit_code) == (0, ExitCode.UNREACHABLE)


def test_invoke_prints_the_answer_and_its_times(run: Run) -> None:
    done = run("invoke", "shared", "--target-model", CITIES[2], "--body", ROW, "--timing")
    assert json.loads(done.stdout) == [pytest.approx(200, abs=30)]
    assert "predict;dur=" in done.stderr


def test_invoke_reads_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(f"{ROW}\n{ROW}\n")
    done = run("invoke", "shared", "--target-model", CITIES[2], "--body", f"@{tmp_path / 'rows.csv'}")
    assert len(json.loads(done.stdout)) == 2


def test_invoke_prints_the_parts_of_a_stream(run: Run, endpoint: torpor.Local) -> None:
    done = run("invoke", "shared", "--target-model", CITIES[2], "--body", ROW, "--stream", "--timing")
    assert done.stdout_bytes == endpoint.invoke_raw(CITIES[2], ROW, content_type="text/csv")["Body"].read()
    assert "predict;dur=" in done.stderr


def test_invoke_prints_only_the_bytes_of_the_answer(run: Run, endpoint: torpor.Local) -> None:
    done = run("invoke", "shared", "--target-model", CITIES[2], "--body", ROW)
    assert done.stdout_bytes == endpoint.invoke_raw(CITIES[2], ROW, content_type="text/csv")["Body"].read()


def test_ls_shows_what_is_in_memory(run: Run, endpoint: torpor.Local) -> None:
    endpoint.invoke(CITIES[3], ROWS)
    shown = run("ls").stdout
    assert CITIES[3] in shown
    assert "AllTraffic" in shown


def test_ls_in_a_narrow_terminal_shows_whole_names(endpoint: torpor.Local) -> None:
    odd = "a[/b]-with-a-name-that-is-longer.tar.gz"
    artifact = endpoint.client("s3").get_object(Bucket="torpor-local", Key=f"shared/{CITIES[0]}")["Body"].read()
    endpoint.put(artifact, key=odd)
    endpoint.invoke(odd, ROWS)
    [instance] = endpoint.instances()
    in_a_terminal = {"AWS_ENDPOINT_URL": endpoint.url, "COLUMNS": "80", "FORCE_COLOR": "1"}
    lines = re.sub(r"\x1b\[[0-9;]*m", "", CliRunner().invoke(app, ["ls"], env=in_a_terminal).stdout).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith(f"AllTraffic/{instance.id} ") for line in lines)
    named = next(number for number, line in enumerate(lines) if line.startswith("  a[/b]"))
    assert lines[named].split()[0] + lines[named + 1].strip() == odd


def test_ls_says_that_a_variant_sleeps() -> None:
    printer = Console(width=80, file=io.StringIO(), record=True)
    printer.print(table(EndpointState("houses", (VariantState("AllTraffic", wanted=0, held=0, instances=()),))))
    assert "AllTraffic: nothing runs until a request comes" in printer.export_text()


def test_ls_marks_the_instances_of_a_shadow_variant() -> None:
    printer = Console(width=80, file=io.StringIO(), record=True)
    variants = tuple(VariantState(name, 1, 0, (InstanceState("i-1", "s-0", 0),), shadow=name == "b") for name in "ab")
    printer.print(table(EndpointState("houses", variants)))
    shown = printer.export_text()
    assert "b/i-1 (shadow)" in shown
    assert shown.count("(shadow)") == 1


def test_ls_shows_each_of_several_containers_above_its_models() -> None:
    printer = Console(width=80, file=io.StringIO(), record=True)
    model = ResidentModel("a", 2**20, 0, 0.0, "onnx", 7)
    scale = ContainerState("scale", 2**30, 2**20)
    predict = ContainerState("predict", 2**30, 2**21, models=(model,), model_count=10_000)
    instance = InstanceState("i-1", "v-0", 0, (scale, predict))
    printer.print(table(EndpointState("houses", (VariantState("v", 1, 0, (instance,)),))))
    lines = [line.split() for line in printer.export_text().splitlines()]
    assert ["v/i-1", "3.0", "MiB", "of", "2.0", "GiB"] in lines
    assert ["scale", "1.0", "MiB", "of", "1.0", "GiB"] in lines
    below = lines[lines.index(["predict", "2.0", "MiB", "of", "1.0", "GiB"]) + 1 :]
    assert ["a", "onnx", "1.0", "MiB", "7", "0.0", "s"] in below
    assert ["and", "9,999", "more:", "--models"] in below


def test_ls_parts_the_thousands_of_hits_as_why_does() -> None:
    printer, model = Console(width=80, file=io.StringIO(), record=True), ResidentModel("a", 2**20, 0, 0.0, "onnx", 1087)
    instance = InstanceState("i-1", "v-0", 0, (ContainerState("primary", models=(model,), model_count=1),))
    printer.print(table(EndpointState("houses", (VariantState("v", 1, 0, (instance,)),))))
    assert " 1,087 " in printer.export_text()
    assert "1,087 hits" in str(Story("a", (), (model,)))


def test_metrics_counts_the_invocations(run: Run, endpoint: torpor.Local) -> None:
    endpoint.invoke(CITIES[0], ROWS)
    rows = {line.split()[0]: line for line in run("metrics", "shared").stdout.splitlines() if line.strip()}
    assert "%" in rows["ModelCacheHit"]
    assert "ms" in rows["ModelLatency"]
    assert int(rows["Invocations"].split()[1]) >= 1


def test_why_prints_the_story_of_a_model(run: Run, endpoint: torpor.Local) -> None:
    endpoint.invoke(CITIES[4], ROWS)
    told = run("why", CITIES[4], "shared").stdout
    assert told.startswith(f"shared: {CITIES[4]}\n")
    assert "was loaded in" in told
    assert "now: in memory" in told


def test_why_shows_the_origin_of_a_model(run: Run, endpoint: torpor.Local, models: Path) -> None:
    endpoint.invoke(CITIES[4], ROWS)
    artifact = (models / CITIES[4]).read_bytes()
    told = run("why", CITIES[4], "shared", "--origin").stdout
    assert f"/{CITIES[4]}\n" in told
    assert f"SHA-256   {sha256(artifact).hexdigest()}\n" in told
    assert f"ETag      {md5(artifact).hexdigest()}\n" in told
    [found] = json.loads(run("why", CITIES[4], "shared", "--origin", "--json").stdout)["stories"][0]["origins"]
    assert (found["digest"], found["overwritten"]) == (sha256(artifact).hexdigest(), False)
    nobody = run("why", CITIES[4], "shared", "--json").stdout
    assert json.loads(nobody)["stories"][0]["origins"] == []


def test_why_prints_the_story_of_a_model_whose_instance_was_replaced(shared: SharedProcess, models: Path) -> None:
    with shared.local(models, name="updated") as endpoint:
        endpoint.invoke(CITIES[0], ROWS)
        endpoint.deploy(memory_mib=512)
        command = ["why", CITIES[0], "updated", "--url", endpoint.url]
        told, unknown = CliRunner().invoke(app, command).stdout, str(endpoint.why("nobody.tar.gz"))
    assert "no running instance has decided anything about it" in told
    assert re.search(r"a request took .*load .*\n  now: not in memory", told)
    assert "nothing is known about it" in unknown


def test_a_model_is_reloaded_and_unloaded(run: Run, endpoint: torpor.Local) -> None:
    for command in ("reload", "unload"):
        endpoint.invoke(CITIES[0], ROWS)
        done = run(command, CITIES[0])
        assert (done.exit_code, done.stderr) == (0, "")
        assert re.fullmatch(r"shared/\w+/i-\w+  was in memory\n", done.stdout)
        assert run(command, CITIES[0], "nobody").stderr == f"torpor: {NOBODY}\n"


def test_logs_shows_each_instances_output(run: Run) -> None:
    assert "==> AllTraffic/" in run("logs", "shared").stdout


def test_the_only_endpoint_needs_no_name(run: Run) -> None:
    assert json.loads(run("invoke", "--target-model", CITIES[2], "--body", ROW).stdout) == [pytest.approx(200, abs=30)]
    assert "shared · AllTraffic" in run("metrics").stdout
    assert "==> AllTraffic/" in run("logs").stdout


def test_ls_shows_an_endpoint_that_failed_and_its_reason(run: Run, endpoint: torpor.Local) -> None:
    sagemaker = endpoint.client("sagemaker")
    with pytest.raises(torpor.TorporError, match="nobodys:1"):
        deploy(sagemaker, EndpointPlan("broken", endpoint.model_data_url, image="nobodys:1"))
    shown, refused = run("ls").stdout, run("logs")
    withdraw(sagemaker, "broken")
    assert re.search(r"^broken  Failed: .*nobodys:1.*^shared  InService$", shown, re.MULTILINE | re.DOTALL)
    assert "name one of the endpoints: broken, shared" in refused.stderr


def test_a_models_own_failure_names_the_logs(run: Run, endpoint: torpor.Local, tmp_path: Path) -> None:
    (tmp_path / "inference.py").write_text(
        "def model_fn(folder): return 1\ndef predict_fn(rows, model): return 1 / 0\n"
    )
    endpoint.put(torpor.bundle(None, tmp_path / "fails.tar.gz", script=tmp_path / "inference.py"))
    failed = run("invoke", "shared", "--target-model", "fails.tar.gz", "--body", ROW)
    assert failed.exit_code == 1
    assert "See `torpor logs shared`" in failed.stderr
    assert "console.aws" not in failed.stderr


def test_an_empty_log_is_printed_as_such() -> None:
    assert with_silence("") == NOTHING
    assert with_silence("==> A/0 <==\n\n==> A/1 <==\nhello\n") == f"==> A/0 <==\n{NOTHING}\n\n==> A/1 <==\nhello\n"
    assert with_silence("==> A/0 <==\n") == f"==> A/0 <==\n{NOTHING}\n"


def test_up_offers_every_option_of_the_endpoint() -> None:
    flags = {flag for parameter in get_command(app).commands["up"].params for flag in parameter.opts}  # type: ignore[attr-defined]  # a group
    for_programs = {"--descriptor", "--what-if", "--analyzer"}
    assert {option.flag for option in OPTIONS} - flags == for_programs


def test_up_on_a_folder_in_use_is_one_line(endpoint: torpor.Local) -> None:
    done = CliRunner().invoke(app, ["up", "--port", "0", "--data-dir", str(endpoint.data_dir)])
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("torpor: another endpoint uses")
    assert done.stderr.endswith("choose another folder with --data-dir\n")


@pytest.mark.parametrize(
    ("flag", "given", "said"),
    [
        ("--s3-endpoint", "nope", "must be a URL"),
        ("--s3-endpoint", "http://[", "must be a URL"),
        ("--s3-endpoint", "ftp://there", "must be a URL"),
        ("--log-level", "nope", "choose one of debug, info, warning, error"),
        ("--account", "12", "12 digits"),
        ("--images", "/nowhere.toml", "No such file"),
        ("--unknown-images", "pull", "choose one of refuse, built-in"),
        ("--region", "no region", "us-east-1"),
        ("--refuse", "pickels", "choose of pickles, scripts"),
        ("--region", "", "us-east-1"),
        ("--allow-host", "torpor:4700", "without a port"),
        ("--allow-origin", "http://localhost:3000/", "without a path"),
        ("--allow-origin", "*", "none means all"),
    ],
)
def test_up_names_the_option_that_it_can_not_start_with(flag: str, given: str, said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["up", "--port", "0", "--data-dir", str(tmp_path), flag, given])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (ExitCode.USAGE, "", 1)
    assert done.stderr.startswith(f"torpor: {flag}: ")
    assert said in done.stderr


def test_up_names_a_data_folder_that_can_not_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = CliRunner().invoke(app, ["up", "--port", "0", "--data-dir", str(tmp_path / "file" / "below")])
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith(
        f"the data folder {tmp_path}/file/below cannot be created: Not a directory: choose another with --data-dir\n"
    )


def test_up_names_a_data_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = CliRunner().invoke(app, ["up", "--port", "0", "--data-dir", str(tmp_path / "file")])
    assert done.stderr.endswith("/file is a file, not a folder: choose a folder with --data-dir\n")


@pytest.mark.parametrize("command", ["costs", "cold-starts"])
def test_a_span_that_is_none_names_its_option(run: Run, command: str) -> None:
    done = run(command, "--since", "5")
    assert done.exit_code == 2
    assert "Invalid value for --since: '5' is not a span of time" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("logs", "nobody"), NOBODY),
        (("why", "a", "nobody"), NOBODY),
        (("metrics", "nobody"), NOBODY),
        (("costs", "nobody"), NOBODY),
        (("cold-starts", "nobody"), NOBODY),
        (("invoke", "shared", "--target-model", "nope.tar.gz", "--body", ROW), "Failed to download model data"),
        (("invoke", "shared", "--body", "@/nowhere"), "--body /nowhere: there is no such file"),
    ],
)
def test_an_expected_error_is_one_line(run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_url_that_is_none_is_a_wrong_command_line() -> None:
    done = CliRunner().invoke(app, ["env", "--url", "foo"])
    assert (done.exit_code, done.stdout) == (ExitCode.USAGE, "")
    assert done.stderr.startswith("torpor: foo is not a URL such as")


def test_up_prints_the_exports_once_reachable_and_stops_on_a_signal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torpor", "up", "--port", "0", "--data-dir", str(tmp_path)]
    terminal, theirs = os.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as up:
        os.close(theirs)
        assert up.stdout is not None
        url = up.stdout.readline().strip().removeprefix("export AWS_ENDPOINT_URL=")
        s3 = torpor.client("s3", url)
        assert s3.list_buckets()["Buckets"] == []
        s3.close()
        said = os.read(terminal, 1000).decode()
        assert said.startswith(f"Serving at {url} until Ctrl-C. Its dashboard is {url}/_torpor/. In another terminal: ")
        up.send_signal(signal.SIGTERM)
        assert up.wait(60.0) == 0
    os.close(terminal)


def test_the_next_step_can_be_pasted_into_a_shell() -> None:
    assert next_step(URL, "my env/bin/torpor").endswith("""In another terminal: eval "$('my env/bin/torpor' env)\"""")
    assert next_step("http://127.0.0.1:5", "/x/__main__.py").endswith(' -m torpor env --url http://127.0.0.1:5)"')


def test_up_says_plainly_that_its_port_is_taken(endpoint: torpor.Local, tmp_path: Path) -> None:
    port = endpoint.url.rpartition(":")[2]
    done = CliRunner().invoke(app, ["up", "--port", port, "--data-dir", str(tmp_path)])
    assert done.exit_code == 1
    assert "Address already in use: choose another with --port, 0 takes a free one" in done.stderr


def test_a_command_whose_reader_has_enough_ends_without_a_word() -> None:
    command = [sys.executable, "-m", "torpor", "simulate", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
