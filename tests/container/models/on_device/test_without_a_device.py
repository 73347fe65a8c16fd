"""An instance that predicts on the processor knows nothing of devices: it imports none of what they need."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import xgboost

from torpor_container.processes.zygote_client import ZygoteClient

INSTANCE = """
import json, sys
from pathlib import Path
from tests.container.helpers.contract_platform import Platform
folder = Path(sys.argv[1])
with Platform(folder, TORPOR_WARM_PARENT=sys.argv[2], TORPOR_TRIALS="false") as instance:
    loaded = instance.load("m", str(folder / "m"))
    assert loaded.status == 200, loaded.body
    answer = instance.invoke("m", b"0.5,0.5")
    assert answer.status == 200, answer.body
    assert "device" not in instance.get("/_torpor/state").json()
print(json.dumps(sorted(sys.modules)))
"""
KNOWN = {"torpor_container.core.devices", "torpor_container.core.devices.asked_device"}
"""What reads the setting TORPOR_DEVICE."""


def test_a_load_and_a_request_on_the_processor_import_nothing_for_devices(tmp_path: Path, zygote: ZygoteClient) -> None:
    rows = np.random.default_rng(7).normal(size=(20, 2)).astype(np.float32)
    (tmp_path / "m").mkdir()
    xgboost.train({"max_depth": 2}, xgboost.DMatrix(rows, rows[:, 0]), 3).save_model(tmp_path / "m" / "model.ubj")
    arguments = [sys.executable, "-c", INSTANCE, str(tmp_path), str(zygote.path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120.0, check=False)
    assert done.returncode == 0, done.stderr
    modules = set(json.loads(done.stdout))
    for_devices = {name for name in modules if "device" in name and name.startswith("torpor")}
    assert for_devices <= KNOWN
    assert not modules & {"pynvml", "cupy", "torch"}
