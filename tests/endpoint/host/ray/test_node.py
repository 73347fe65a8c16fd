"""What an actor does on its node, without Ray."""

from pathlib import Path

import pytest

from torpor_endpoint.host.ray.driver_messages import OUTPUT_MAX_BYTES, Order
from torpor_endpoint.host.ray.node import NODE_FOLDER, GrowingOutput, NodeFolder, hidden_folders, instance_environment


def order(environment: dict[str, str], forgotten: list[str]) -> Order:
    return Order(
        slot="shop/A/0/0",
        launch="i-1",
        secret="",
        environment=environment,
        forgotten=forgotten,
        asked={},
        version="",
        deployment="d",
        container="",
        instance="",
        role="",
        configuration="",
    )


def test_output_is_read_by_its_offset_and_goes_on_where_the_last_reader_was(tmp_path: Path) -> None:
    output = GrowingOutput(tmp_path / "log")
    assert output.read(None) == (0, b"")
    output.path.write_bytes(b"one two")
    assert output.read(0) == (0, b"one two")
    assert output.read(4) == (4, b"two")
    assert output.read(None) == (4, b"two")  # whether the last reader kept it is not known
    assert output.read(7) == (7, b"")


def test_output_comes_in_pieces(tmp_path: Path) -> None:
    output = GrowingOutput(tmp_path / "log")
    output.path.write_bytes(b"x" * (OUTPUT_MAX_BYTES + 1))
    assert [len(output.read(offset)[1]) for offset in (0, OUTPUT_MAX_BYTES)] == [OUTPUT_MAX_BYTES, 1]


def test_a_file_that_was_read_is_emptied_once_it_is_large(tmp_path: Path) -> None:
    output = GrowingOutput(tmp_path / "log", kept_bytes=10)
    output.path.write_bytes(b"0123456789ab")
    assert output.read(0) == (0, b"0123456789ab")
    assert output.path.stat().st_size == 0
    output.path.write_bytes(b"cd")
    assert output.read(12) == (12, b"cd")
    assert output.read(0) == (12, b"cd")  # what came before is gone


def test_an_instance_inherits_nothing_of_ray_and_nothing_that_its_launch_forgets() -> None:
    nodes = {"PATH": "/bin", "RAY_AUTH_TOKEN": "secret", "AWS_SECRET_ACCESS_KEY": "real", "TORPOR_VCPU": "9"}
    assert instance_environment(order({"A": "1"}, ["AWS_"]), nodes) == {"PATH": "/bin", "A": "1"}


def test_scripts_see_neither_other_instances_disks_nor_rays_token(tmp_path: Path) -> None:
    hidden = hidden_folders(order({"TORPOR_SCRIPT_HIDDEN": "/data"}, []), tmp_path)
    assert hidden == ["/data", str(tmp_path), str(Path.home() / ".ray")]


def test_a_nodes_folder_belongs_to_its_user_alone(tmp_path: Path) -> None:
    folder = NodeFolder("d", {NODE_FOLDER: str(tmp_path)})
    assert folder.path.parent == tmp_path
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.path.chmod(0o755)
    with pytest.raises(PermissionError, match=NODE_FOLDER):
        NodeFolder("d", {NODE_FOLDER: str(tmp_path)})


def test_a_new_incarnation_removes_the_output_of_the_one_before(tmp_path: Path) -> None:
    folder = NodeFolder("d", {NODE_FOLDER: str(tmp_path)})
    before = folder.output("shop/A/0/0", "i-1")
    before.touch()
    after = folder.output("shop/A/0/0", "i-2")
    assert (before.exists(), after.parent) == (False, before.parent)
