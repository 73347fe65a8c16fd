"""Which files a script may reach."""

import errno
import os
from typing import Any

import pytest

from torpor_container.isolation.abilities import Abilities
from torpor_container.isolation.landlock import (
    ADD,
    CONNECT_TCP,
    CREATE,
    READ,
    WRITE,
    FileAccess,
    known_to,
    restrict,
    version,
)
from torpor_container.isolation.places import OWN_PROCESS, SHARED_MEMORY, of_python, readable, rules, without

TREE = {"/srv": ["app", "data", "lib"], "/srv/data": ["objects", "public"]}


def listed(folder: str) -> list[str]:
    if folder not in TREE:
        raise PermissionError(folder)
    return TREE[folder]


def test_a_folder_without_hidden_ones_is_whole() -> None:
    assert list(without("/srv", ["/var/data"], listed)) == ["/srv"]
    assert list(without("/srv/data2", ["/srv/data"], listed)) == ["/srv/data2"]


def test_a_folder_around_a_hidden_one_is_split() -> None:
    assert list(without("/srv", ["/srv/data/objects"], listed)) == ["/srv/app", "/srv/data/public", "/srv/lib"]


def test_nothing_of_a_hidden_folder_or_of_one_that_cannot_be_listed_is_readable() -> None:
    assert list(without("/srv/data/objects", ["/srv/data"], listed)) == []
    assert list(without("/home", ["/home/me/data"], listed)) == []


def test_own_folders_may_be_written_even_within_hidden_ones() -> None:
    found = dict(rules(["/srv/data/models/a"], readable(["/srv/app"], ["/srv/data"], listed)))
    assert (found["/srv/data/models/a"], found["/srv/app"]) == (WRITE, READ)
    assert not any(
        FileAccess.WRITE_FILE in found[path] for path in ("/usr", "/etc/hosts", OWN_PROCESS) if path in found
    )
    assert FileAccess.READ_DIR not in found[SHARED_MEMORY]


def test_the_root_is_no_place_of_python_s() -> None:
    places = of_python({"PATH": "/:/usr/local/bin", "PYTHONPATH": "relative", "SSL_CERT_FILE": "/var/certs/ca.pem"})
    assert "/" not in places
    assert {"/usr/local/bin", "/var/certs/ca.pem"} <= set(places)


def test_an_older_kernel_is_asked_only_for_what_it_knows() -> None:
    assert known_to(1) == FileAccess((1 << 13) - 1)
    assert FileAccess.TRUNCATE in known_to(3) & ~known_to(2)
    assert known_to(9) == FileAccess((1 << 16) - 1)


def test_a_kernel_without_landlock_has_version_0() -> None:
    def refused(*arguments: object) -> int:
        raise OSError(errno.ENOSYS, "no such call")

    assert version(refused) == 0


def test_what_a_machine_cannot_hold_is_said() -> None:
    assert Abilities(landlock=7, filters=True, mounts=True).missing() == []
    (files, calls) = Abilities(landlock=0, filters=False, mounts=True).missing()
    assert "no Landlock" in files
    assert "no seccomp filter" in calls
    (signals,) = Abilities(landlock=5, filters=True, mounts=True).missing()
    assert "Landlock is of version 5" in signals


def test_connections_to_the_endpoint_alone_need_a_newer_kernel() -> None:
    assert Abilities(landlock=4, filters=True, mounts=True).ports
    assert Abilities(landlock=7, filters=True, mounts=True).missing(endpoint_only=True) == []
    (ports, _) = Abilities(landlock=3, filters=True, mounts=True).missing(endpoint_only=True)
    assert "Linux 6.7" in ports
    assert not Abilities(landlock=7, filters=False, mounts=True).ports


@pytest.mark.parametrize(("kernel", "size_bytes", "ports"), [(3, 8, None), (4, 16, (80, 81)), (7, 24, (80,))])
def test_ports_are_rules_of_the_kernels_that_know_them(
    kernel: int, size_bytes: int, ports: tuple[int, ...] | None
) -> None:
    made: list[tuple[Any, ...]] = []

    def call(number: int, *arguments: Any) -> int:
        made.append((number, *arguments))
        return os.open(os.devnull, os.O_RDONLY) if number == CREATE else 0

    restrict([], kernel, call=call, ports=ports)
    assert [one[2].value for one in made if one[0] == CREATE] == [size_bytes]
    rules = [one[3]._obj for one in made if one[0] == ADD]
    assert [(rule.allowed, rule.port) for rule in rules] == [(CONNECT_TCP, port) for port in ports or ()]
