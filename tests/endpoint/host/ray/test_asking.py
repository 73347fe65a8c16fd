"""What an instance asks of a Ray cluster, and what a person is told meanwhile."""

import pytest

from torpor_container.settings import MIB
from torpor_endpoint.host import LaunchSpec, Resources, Slot
from torpor_endpoint.host.launch_names import deployment_digest
from torpor_endpoint.host.ray.advice import advice, cause
from torpor_endpoint.host.ray.asking import asked_by, why_pending
from torpor_endpoint.host.ray.driver_messages import actor_name, slot_of
from torpor_endpoint.host.ray.ray_address import address_of
from torpor_endpoint.host.ray.ray_host import unreachable

SLOT = Slot("shop", "AllTraffic", 3, 1)
NODES = [{"CPU": 2.0, "memory": 4096.0 * MIB}, {"CPU": 8.0, "memory": 16384.0 * MIB, "GPU": 1.0}]


def test_an_instance_asks_for_the_processors_memory_and_accelerators_of_its_type() -> None:
    asked = asked_by(LaunchSpec(Slot("shop", "A", 0), resources=Resources(4, 16384, gpus=1)))
    assert asked == {"CPU": 4.0, "memory": 16384.0 * MIB, "GPU": 1.0}


def test_a_further_container_of_an_instance_asks_for_its_memory_alone() -> None:
    assert asked_by(LaunchSpec(SLOT, resources=Resources(4, 8192, gpus=1))) == {"CPU": 0.0, "memory": 8192.0 * MIB}


def test_what_fits_no_node_is_told_with_the_largest_one() -> None:
    asked = {"CPU": 16.0, "memory": 1024.0 * MIB}
    assert why_pending(asked, NODES, {}) == (
        "it asks Ray for 16 CPUs, 1,024 MiB of memory, which no node of the cluster has: "
        "the largest of 2 has 8 CPUs, 16,384 MiB of memory, 1 GPU"
    )


def test_what_waits_for_others_to_end_is_told_with_what_is_free() -> None:
    asked = {"CPU": 1.0, "memory": 1024.0 * MIB}
    free = {"CPU": 0.5, "memory": 512.0 * MIB}
    assert why_pending(asked, NODES, free).endswith("of its 2 nodes, 0 CPUs, 512 MiB of memory are free")
    assert why_pending(asked, [], {}).endswith("and the cluster has no node")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ray", "auto"),
        ("ray://head:10001", "ray://head:10001"),
        ("ray://head:10001/", "ray://head:10001"),
        ("ray://[::1]:10001", "ray://[::1]:10001"),
        *[(text, None) for text in ("ray:", "ray://", "ray://head", "ray://head:x", "ray://head:1/a", "ray://u@h:1")],
    ],
)
def test_the_option_has_rays_own_spelling(text: str, address: str | None) -> None:
    assert address_of(text) == address


def test_a_slot_is_found_again_by_the_name_of_its_actor() -> None:
    assert slot_of(actor_name(SLOT)) == SLOT
    assert [slot_of(name) for name in ("", "shop", "a/b/c/d", "a/b/1/2/3")] == [None] * 4


def test_the_digest_of_a_deployment_does_not_tell_its_secret() -> None:
    secret = b"s" * 32
    assert secret.hex()[:8] != deployment_digest(secret) != deployment_digest(b"t" * 32)


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Unauthenticated: RPC error: InvalidAuthToken: Authentication token is missing or incorrect", "token"),
        ("RuntimeError: Version mismatch: The cluster was started with: Ray: 2.59.0", "same versions"),
        ("ConnectionError: Could not find any running Ray instance.", "ray start"),
        ("Failed to connect to 10.0.0.5:6379: timed out", "no Ray answers"),
        ("first\nwhat nobody knew", "what nobody knew"),
        ("", "does not answer"),
    ],
)
def test_what_ray_says_becomes_what_to_do(said: str, word: str) -> None:
    assert word in advice(said)


def test_the_cause_of_an_actors_failure_is_one_line() -> None:
    said = "The actor died\n  File x\ntorpor_endpoint.host.ray.actor.DifferentVersion: the node has Torpor 0\n"
    assert cause(said) == "DifferentVersion: the node has Torpor 0"
    assert "install torpor" in cause("ModuleNotFoundError: No module named 'torpor_endpoint'")
    assert cause("killed\nby somebody") == "killed"


def test_a_loopback_address_is_refused_only_if_instances_elsewhere_would_call_it() -> None:
    assert unreachable("http://127.0.0.1:4700", ["127.0.0.1"]) is None
    assert unreachable("http://10.0.0.5:4700", ["203.0.113.9"]) is None
    assert unreachable("", ["203.0.113.9"]) is None
    assert "--advertise" in str(unreachable("http://127.0.0.1:4700", ["127.0.0.1", "203.0.113.9"]))
