"""MLServer with its XGBoost runtime and its multi-model repository, over the Open Inference Protocol."""

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks import scene
from benchmarks.client import request
from benchmarks.peers.peer import Site

JSON = {"content-type": "application/json"}
ROW = [float(cell) for cell in scene.ROW.split(b",")]
INPUT = {"name": "rows", "shape": [1, scene.COLUMNS], "datatype": "FP32", "data": ROW}
BODY = json.dumps({"inputs": [INPUT]}).encode()


@dataclass(frozen=True)
class MLServer:
    """`workers` 0 predicts in the server's own process; 1 is MLServer's default."""

    name: str
    workers: int
    environment: str = "mlserver"
    models_max: int | None = None

    def command(self, site: Site) -> list[str]:
        http, grpc, metrics = site.ports
        settings = {
            "host": "127.0.0.1",
            "http_port": http,
            "grpc_port": grpc,
            "metrics_port": metrics,
            "parallel_workers": self.workers,
            "debug": False,
            "load_models_at_startup": False,
            "model_repository_root": str(site.folder / "repository"),
        }
        (site.folder / "settings.json").write_text(json.dumps(settings))
        for name in site.names:
            _add_model(site, name)
        return ["mlserver", "start", str(site.folder)]

    def request(self, model: str) -> bytes:
        return request(f"/v2/models/{_stem(model)}/infer", JSON, BODY)

    def said(self, body: bytes) -> float:
        return float(json.loads(body)["outputs"][0]["data"][0])

    def bring(self, model: str) -> list[bytes] | None:
        return [request(f"/v2/repository/models/{_stem(model)}/load", JSON, b"")]


def _add_model(site: Site, model: str) -> None:
    """Into its repository."""
    folder = site.folder / "repository" / _stem(model)
    folder.mkdir(parents=True)
    (folder / "model.ubj").hardlink_to(site.models / f"{_stem(model)}.ubj")
    settings = {
        "name": _stem(model),
        "implementation": "mlserver_xgboost.XGBoostModel",
        "parameters": {"uri": "./model.ubj"},
    }
    (folder / "model-settings.json").write_text(json.dumps(settings))


def _stem(model: str) -> str:
    return Path(model).name.removesuffix(".tar.gz")
