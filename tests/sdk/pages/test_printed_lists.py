"""Instances and models print as tables, and stay lists."""

from torpor.pages.printed_lists import instances, models
from torpor_endpoint.core.pages.state import ContainerState, InstanceState, ResidentModel

MIB = 1024**2
HOUSTON = ResidentModel("Houston.tar.gz", 512 * 1024, 1, 2.5, "xgboost", 1200, "i-1")
AUSTIN = ResidentModel("Austin.tar.gz", 3 * MIB, 0, 0.0, "onnx", 7, "i-1")


def test_models_print_as_a_table_by_name() -> None:
    assert str(models([HOUSTON, AUSTIN])).splitlines() == [
        "model           format    memory   hits  in flight   idle  instance",
        "Austin.tar.gz   onnx     3.0 MiB      7          0  0.0 s  i-1",
        "Houston.tar.gz  xgboost  512 KiB  1,200          1  2.5 s  i-1",
    ]


def test_instances_print_as_a_table() -> None:
    container = ContainerState("primary", budget_bytes=64 * MIB, used_bytes=32 * MIB, models=(HOUSTON, AUSTIN))
    one = InstanceState("i-1", "0", 3, (container,))
    assert str(instances([one])).splitlines() == [
        "instance                memory  models  in flight",
        "i-1       32.0 MiB of 64.0 MiB       2          3",
    ]


def test_an_empty_listing_prints_a_sentence() -> None:
    assert str(models([])) == "no model is in memory"
    assert str(instances([])) == "no instance runs"


def test_listings_stay_lists() -> None:
    assert models([HOUSTON, AUSTIN]) == [AUSTIN, HOUSTON]
    assert instances([]) == []
