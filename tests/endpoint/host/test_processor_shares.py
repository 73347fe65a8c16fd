"""Instances with bounded cores get processors, and a control group where the endpoint may make one."""

from pathlib import Path

from torpor_container.processes.process_tree import GROUP, PROCESSORS
from torpor_endpoint.host.processor_shares import ProcessorShares


def test_instances_share_the_processors_evenly_and_give_them_back(tmp_path: Path) -> None:
    processors = ProcessorShares([0, 1, 2, 3], tmp_path / "nowhere")
    assert processors.bounds("a", 1.5) == {PROCESSORS: "0,1"}
    assert processors.bounds("b", 2.0) == {PROCESSORS: "2,3"}
    assert processors.bounds("c", 0.25) == {PROCESSORS: "0"}
    processors.free("b")
    assert processors.bounds("d", 2.0) == {PROCESSORS: "2,3"}
    processors.free("unknown")


def test_an_instance_of_as_many_cores_as_the_machine_has_may_use_all(tmp_path: Path) -> None:
    assert ProcessorShares([0, 1], tmp_path / "nowhere").bounds("a", 8.0) == {}


def test_a_group_bounds_a_part_of_a_processor_and_ends_with_its_instance(tmp_path: Path) -> None:
    processors = ProcessorShares([0, 1], tmp_path)
    group = Path(processors.bounds("a", 0.25)[GROUP])
    assert group.parent == tmp_path
    assert (group / "cpu.max").read_text() == "25000 100000"
    (group / "cpu.max").unlink()  # the kernel's own files go with the folder
    processors.free("a")
    assert not group.exists()
