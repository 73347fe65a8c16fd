"""What a training made is not lost while the store is away, or the disk is full."""

import asyncio
from pathlib import Path

import pytest

from tests.endpoint.services.helpers.failing_machine import STORE, STORE_AFTER, FailingMachine, FailingStorage
from torpor_account.core.outages import waiting
from torpor_account.s3.access.embedded import EmbeddedStorage, NotStored
from torpor_account.s3.object_store import ObjectStore
from torpor_endpoint.services.training.running.transport import Transport


@pytest.mark.parametrize("kind", [STORE, STORE_AFTER])
def test_a_trained_model_is_written_once_the_store_is_back(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "FIRST_PAUSE_S", 0.001)
    machine, objects = FailingMachine(kind), ObjectStore(tmp_path / "s3")
    objects.buckets.create("trained")
    transport = Transport(FailingStorage(EmbeddedStorage(objects), machine))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_text("7")
    machine.fail_next(0, 3)
    asyncio.run(transport.deliver(tmp_path / "model", "s3://trained/model.tar.gz"))
    assert machine.failed == 3
    assert (tmp_path / "s3" / "trained" / "model.tar.gz").stat().st_size > 0
    with pytest.raises(NotStored):
        asyncio.run(transport.deliver(tmp_path / "model", "s3://another/model.tar.gz"))
    objects.close()
