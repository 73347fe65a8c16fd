"""Ray Serve with multiplexed XGBoost models: it loads the model that a header names, and predicts one CSV row. It
runs in the environment of its own requirements: `program.py MODELS PORT MODELS_MAX`."""

import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import ray
import xgboost
from ray import serve
from ray.serve.schema import LoggingConfig
from starlette.requests import Request
from starlette.responses import PlainTextResponse

models, port, models_max = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])


class Models:
    def __init__(self, folder: str) -> None:
        self._folder = folder

    @serve.multiplexed(max_num_models_per_replica=models_max)  # type: ignore[untyped-decorator]
    async def model(self, name: str) -> Any:
        booster = xgboost.Booster({"nthread": 1})
        booster.load_model(f"{self._folder}/{name}.ubj")
        return booster

    async def __call__(self, request: Request) -> PlainTextResponse:
        booster = await self.model(serve.get_multiplexed_model_id())
        body = await request.body()
        row = np.array(body.split(b","), np.float32).reshape(1, -1)
        return PlainTextResponse(str(booster.inplace_predict(row)[0]))


quiet = LoggingConfig(enable_access_log=False, log_level="ERROR")
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
serve.start(http_options={"host": "127.0.0.1", "port": port, "access_log": False}, logging_config=quiet)
replica = serve.deployment(num_replicas=1, max_ongoing_requests=100, ray_actor_options={"num_cpus": 1})(Models)
serve.run(replica.bind(str(models)), logging_config=quiet)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
serve.shutdown()
ray.shutdown()
