"""`torpor profile` writes a group's file that the endpoint then chooses by."""

import json
from pathlib import Path

from typer.testing import CliRunner

from tests.sdk.helpers.small_models import CITIES, TABLE, answers
from torpor.cli import app
from torpor.hosting.shared_process import SharedProcess


def test_a_group_is_measured_and_its_most_accurate_model_chosen(
    shared: SharedProcess, models: Path, tmp_path: Path
) -> None:
    sample = tmp_path / "sample.csv"
    rows = zip(TABLE[:40].tolist(), answers()[:40].tolist(), strict=True)
    sample.write_text("a,b,c,d,price\n" + "".join(f"{','.join(map(str, row))},{price}\n" for row, price in rows))
    with shared.local(models, name="grouped", environment={"TORPOR_GROUPS": "true"}) as endpoint:
        command = ["profile", "prices", "grouped", "--data", str(sample), "--url", endpoint.url]
        few = ["--label", "price", "--rows", "1,8", "--calls", "2"]
        unknown = CliRunner().invoke(app, [*command, *few])
        assert (unknown.exit_code, "name its models with --model" in unknown.stderr) == (1, True)
        done = CliRunner().invoke(app, [*command, *few, "--model", CITIES[0], "--model", CITIES[1]])
        assert done.exit_code == 0, done.stderr
        again = CliRunner().invoke(app, [*command, *few, "--out", str(tmp_path / "again.json")])
        assert again.exit_code == 0, again.stderr
        told = endpoint.invoke_raw("prices", TABLE[:1].tolist(), CustomAttributes="min_accuracy=0.9")
        told["Body"].read()
    written = json.loads((tmp_path / "again.json").read_text())
    near, far = written["models"][CITIES[0]], written["models"][CITIES[1]]
    assert (near["accuracy"] > 0.9, far["accuracy"]) == (True, 0.0)
    assert near["latency_ms"].keys() == {"1", "8"}
    assert near["load_ms"]["s3"] >= near["load_ms"]["disk"] > 0
    assert near["size_bytes"] > 0
    assert written["usd_per_hour"] > 0
    assert told["ResponseMetadata"]["HTTPHeaders"]["x-torpor-target-model"] == CITIES[0]
