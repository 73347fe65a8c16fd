"""A client of TensorFlow Serving, in a Python of its own, against a script that reads images."""

import os
import subprocess
from pathlib import Path

from tests.clients.helpers.wiring import only_if_asked, variables
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import packed, put

HERE = Path(__file__).parent
SCRIPT = """
import base64
import numpy as np


def model_fn(folder):
    return None


def infer_fn(inputs, model):
    (images,) = inputs.values()
    words = [base64.urlsafe_b64decode(image).decode() for image in images.tolist()]
    return {
        "preds": np.array([[word, word[::-1]] for word in words], object),
        "logprobs": np.array([[-0.5, -1.5]] * len(words), np.float32),
    }
"""


@only_if_asked("tf-serving", "make clients-tf-serving")
def test_images_are_read_as_the_client_has_it(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path) as live:
        put(live.folder("shelf"), {"models/ocr.tar.gz": packed({"code/inference.py": SCRIPT, "weights": "1"})})
        live.deploy("reading", Variant(many("shelf/models")))
        command: list[str | Path] = [os.environ["TORPOR_PYTHON"], HERE / "tf_serving_client.py", live.url, "ocr"]
        subprocess.run([*command, "alpha", "beta", "gamma"], env=variables(live), check=True, timeout=120)
