"""What an endpoint checks, warns of and refuses before it starts."""

import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.endpoint.helpers.ray_cluster import HAS_RAY
from tests.helpers.ports import free_ports
from tests.helpers.thorough_values import thorough
from torpor_account.core.origins.cross_origin import Sender
from torpor_container.http.server import NOT_STARTED
from torpor_endpoint.app import own_hosts_of
from torpor_endpoint.options import Options
from torpor_endpoint.starting.cannot_start import BadOption, CannotStart
from torpor_endpoint.starting.endpoint_checks import check, check_router_ports
from torpor_endpoint.up import _with_address, exposure, run


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.1.1", "localhost", "::1"])
def test_an_address_of_this_machine_alone_needs_no_warning(host: str) -> None:
    assert exposure(Options(host=host)) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "10.0.0.1", "box.internal"])
def test_an_address_that_others_reach_is_warned_of(host: str) -> None:
    warned = exposure(Options(host=host, port=4711, insecure=True))
    assert warned is not None
    assert all(word in warned for word in (host or "0.0.0.0", "4711", "no signature", "run code", "--auth"))
    assert exposure(Options(host=host, auth=True)) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "10.0.0.1", "box.internal"])
def test_an_address_that_others_reach_needs_a_decision(host: str) -> None:
    with pytest.raises(BadOption, match=r"--host: other machines may reach this address: add --auth, .*--insecure"):
        check(Options(host=host))
    check(Options(host=host, auth=True))
    check(Options(host=host, insecure=True))


def test_the_warning_is_printed_at_the_start(tmp_path: Path) -> None:
    """An address that is not this machine's: it ends by itself, once it has said so."""
    options = ["--host", "192.0.2.1", "--insecure-allow-anyone", "--port", "0", "--data-dir", str(tmp_path)]
    command = [sys.executable, "-m", "torpor_endpoint", *options]
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert started.stderr is not None
    try:
        assert started.stderr.readline().startswith("Warning: the endpoint listens on 192.0.2.1,")
    finally:
        started.kill()
        started.communicate()


def test_the_host_name_of_the_options_is_still_an_own_host() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        options = Options(host="box.internal", descriptor=listener.fileno())
        found = _with_address(options, listener.fileno())
    assert found.host == "127.0.0.1"
    assert own_hosts_of(found, "box").judge([(b"host", b"box.internal:1")]).sender is Sender.OWN
    assert own_hosts_of(found, "box").judge([(b"host", b"box:1")]).sender is Sender.ELSEWHERE


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(travelling_clock=True, host="0.0.0.0"), r"--travelling-clock: .* loopback address"),
        (Options(travelling_clock=True, time_scale=60.0), r"--travelling-clock: .*leave out --time-scale"),
        (Options(travelling_clock=True, emulate="aws"), r"--travelling-clock: .*leave out --emulate"),
        (Options(device="tpu"), r"--device: it must be cpu, cuda"),
        (Options(faults=True, host="10.0.0.1"), r"--faults: .* loopback address"),
        (Options(faults=True, s3_endpoint="http://127.0.0.1:9000"), r"--faults: .*leave out --s3-endpoint"),
    ],
)
def test_means_of_tests_are_for_an_endpoint_of_this_machine(options: Options, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        check(options)


ON_CLUSTER = Options(instances_on="kubernetes", advertise="http://10.0.0.5:4700")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(instances_on="nomad"), "--instances-on: choose one of local, "),
        (Options(kubernetes_file=Path("k.toml")), "--kubernetes-file: it is for --instances-on kubernetes"),
        (Options(instances_on="kubernetes"), "--advertise: .* give the URL by which they do"),
        (Options(instances_on="kubernetes", host="0.0.0.0", auth=True), "--advertise: .* give the URL"),
        (replace(ON_CLUSTER, tls_self_signed=True), "--tls-self-signed: .*trust public certificates only"),
        (replace(ON_CLUSTER, faults=True), "--faults: .*leave out --instances-on"),
        (ON_CLUSTER, '--kubernetes-file: it must be given, .* image = "registry/name:tag"'),
        (replace(ON_CLUSTER, kubernetes_file=Path("/none")), "--kubernetes-file: /none: .*No such file"),
    ],
)
def test_instances_elsewhere_need_what_leads_them_here(options: Options, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        check(options)


def test_instances_of_this_machine_call_the_endpoint_by_its_own_address() -> None:
    advertised = Options(auth=True, tls_self_signed=True, advertise="https://torpor.models.svc:4700")
    assert (advertised.instances_url, advertised.lends_apart) == (advertised.url, True)
    assert ON_CLUSTER.instances_url == "http://10.0.0.5:4700"


def test_the_advertised_name_is_one_of_the_endpoints_own() -> None:
    own = own_hosts_of(Options(host="0.0.0.0", advertise="http://torpor.models.svc:80"), "box")
    assert own.judge([(b"host", b"torpor.models.svc")]).sender is Sender.OWN


def test_a_travelling_clock_is_refused_on_an_inherited_socket_that_others_reach(tmp_path: Path) -> None:
    with socket.create_server(("0.0.0.0", 0)) as listener:
        options = Options(tmp_path, travelling_clock=True, descriptor=listener.fileno())
        with pytest.raises(BadOption, match="loopback address"):
            run(options)


def test_telemetry_that_would_not_do_as_told_is_refused_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(BadOption, match="--otel: OTEL_EXPORTER_OTLP_PROTOCOL=grpc: it must be http/protobuf"):
        check(Options(otel=True))
    check(Options())


def test_an_unknown_format_of_the_log_is_refused() -> None:
    with pytest.raises(BadOption, match="--log-format: choose one of text, json"):
        check(Options(log_format="xml"))


def test_the_warning_is_a_line_of_json_where_the_log_is(tmp_path: Path) -> None:
    options = [
        "--host",
        "192.0.2.1",
        "--insecure-allow-anyone",
        "--port",
        "0",
        "--data-dir",
        str(tmp_path),
        "--log-format",
        "json",
    ]
    command = [sys.executable, "-m", "torpor_endpoint", *options]
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert started.stderr is not None
    try:
        assert json.loads(started.stderr.readline())["message"].startswith(
            "Warning: the endpoint listens on 192.0.2.1,"
        )
    finally:
        started.kill()
        started.communicate()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(instances_on="raty"), "--instances-on: choose one of local, kubernetes, ray, and ray://HOST:PORT"),
        (Options(instances_on="ray://head"), "--instances-on: choose one of"),
        (Options(instances_on="ray", tls_self_signed=True), "--tls-self-signed: .*--s3-endpoint"),
        (Options(instances_on="ray", faults=True), "--faults: .*leave out --instances-on"),
        (Options(instances_on="ray", travelling_clock=True), "--travelling-clock: .*leave out --instances-on"),
    ],
)
def test_instances_elsewhere_need_a_host_that_is_known_and_real_time(options: Options, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        check(options)


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_ray_that_is_not_installed_is_told_with_its_extra() -> None:
    with pytest.raises(BadOption, match=r"--instances-on: Ray is not installed: .*\[ray\]"):
        check(Options(instances_on="ray"))


def start(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """What `python -m torpor_endpoint` says of arguments with which it does not start."""
    command = [sys.executable, "-m", "torpor_endpoint", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_descriptor_that_is_no_socket_is_refused_in_one_line(tmp_path: Path) -> None:
    ended = start("--descriptor=99", f"--data-dir={tmp_path}")
    assert ended.returncode == 2
    assert ended.stderr.startswith("torpor: --descriptor: 99 is no listening socket: ")
    assert ended.stderr.count("\n") == 1
    with (tmp_path / "file").open("w") as file, pytest.raises(BadOption, match=r"--descriptor: .* no listening socket"):
        run(Options(tmp_path, descriptor=file.fileno()))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            Options(port=65534, routers=3, router_ports=True),
            "--routers: their last port would be 65537, and 65535 is the highest",
        ),
        (Options(port=0, routers=1, router_ports=True), "--port: it must be given with --router-ports"),
        (Options(port=65535, routers=1, no_runtime=True), "--routers: their last port would be 65536"),
    ],
)
def test_routers_need_ports_that_exist(options: Options, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        check_router_ports(options)


def test_routers_at_the_endpoints_own_port_need_no_other() -> None:
    check_router_ports(Options(port=65535, routers=1))
    check_router_ports(Options(port=0, routers=64))


def test_ports_of_routers_need_routers() -> None:
    with pytest.raises(BadOption, match="--router-ports: it says where the --routers listen: add these"):
        check(Options(router_ports=True))


def test_a_router_whose_port_is_taken_is_told_before_the_start() -> None:
    first = free_ports(3)
    check_router_ports(Options(port=first, routers=2, router_ports=True))
    with (
        socket.create_server(("127.0.0.1", first + 2)),
        pytest.raises(CannotStart, match=f":{first + 2} cannot be listened on by a router: Address already"),
    ):
        check_router_ports(Options(port=first, routers=2, router_ports=True))


STARTED = """
import sys
from pathlib import Path
from torpor_endpoint.options import Options
from torpor_endpoint.up import _app
_app(Options(data_dir=Path(sys.argv[1]), instances_on="kubernetes", s3_endpoint="http://127.0.0.1:1", port=4700))
"""
"""The start of an endpoint whose options are checked: it needs no cluster."""


@pytest.mark.parametrize("name", ["peer-authority.json", *thorough("deployment-secret")])
def test_a_secret_that_cannot_be_read_ends_the_start_with_one_line(tmp_path: Path, name: str) -> None:
    """As a database of a later version does."""
    (tmp_path / name).write_text("{")
    ended = subprocess.run([sys.executable, "-c", STARTED, tmp_path], capture_output=True, text=True, timeout=60)
    assert ended.returncode == NOT_STARTED, ended.stderr
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"torpor: the endpoint cannot start: {tmp_path}/{name} ")
    assert line.endswith("remove it, and another is made")


@pytest.mark.parametrize("module", ["nosuchmodule", "torpor_endpoint.nosuchmodule", "json.nothing.at.all", ""])
def test_a_simulator_that_is_not_there_is_refused(module: str) -> None:
    with pytest.raises(BadOption, match="--what-if: there is no such module"):
        check(Options(what_if=module))


@pytest.mark.parametrize("module", ["json", "json.decoder", "torpor.simulator", "torpor.simulator.what_if"])
def test_a_simulator_that_is_there_is_taken(module: str) -> None:
    check(Options(what_if=module))


def test_a_port_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadOption, match="--port: it must be from 0 to 65535"):
        check(Options(port=65536))
