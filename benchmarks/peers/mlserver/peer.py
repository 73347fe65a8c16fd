"""MLServer with its XGBoost runtime and its multi-model repository, over the Open Inference Protocol."""

import json
from dataclasses import dataclass

from benchmarks.peers import open_inference
from benchmarks.peers.open_inference import stem
from benchmarks.peers.peer import Site


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
        return open_inference.request(model)

    def said(self, body: bytes) -> float:
        return open_inference.said(body)

    def bring(self, model: str) -> list[bytes] | None:
        return [open_inference.load(model)]


def _add_model(site: Site, model: str) -> None:
    """Into its repository."""
    folder = site.folder / "repository" / stem(model)
    folder.mkdir(parents=True)
    (folder / "model.ubj").hardlink_to(site.models / f"{stem(model)}.ubj")
    settings = {
        "name": stem(model),
        "implementation": "mlserver_xgboost.XGBoostModel",
        "parameters": {"uri": "./model.ubj"},
    }
    (folder / "model-settings.json").write_text(json.dumps(settings))
