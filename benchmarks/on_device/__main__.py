"""Runs the parts that are named, or all, one after the other, and writes each figure when it is known."""

import argparse
import json
import shutil
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks.on_device.parts import PARTS as FIRST_PARTS
from benchmarks.on_device.parts import Bench
from benchmarks.on_device.variants import variants

PARTS = {**FIRST_PARTS, "variants": variants}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.on_device")
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--out", type=Path, default=Path("build/on-device"), help="where figures.json is written")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--turn", type=float, default=4.0, help="seconds of each turn of throughput")
    parser.add_argument("--short", action="store_true", help="leave out what concerns the processor alone")
    parser.add_argument("--simulated", action="store_true", help="on no device: it only shows that the parts run")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="torpor-device-"))
    bench = Bench(folder, asked.out, asked.device, asked.simulated, asked.turn, asked.short)
    failed = [name for name in asked.parts if not measured(name, bench)]
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(asked.parts) - len(failed)} parts, and {len(failed)} failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def measured(name: str, bench: Bench) -> bool:
    """Whether the part came to its end. Its figures are in the file either way."""
    file, began_s = bench.out / "figures.json", time.monotonic()
    print(f"== {name}", flush=True)
    figures: dict[str, Any] = {"simulated": bench.simulated}
    try:
        for key, value in PARTS[name](bench):
            figures[key] = value
            print(f"{name}.{key}: {json.dumps(value, default=str)}", flush=True)
            write(file, name, figures)
    except Exception:  # noqa: BLE001  whatever fails, the other parts are measured
        figures["failed"] = traceback.format_exc()
        print(figures["failed"], flush=True)
    figures["took_s"] = time.monotonic() - began_s
    write(file, name, figures)
    return "failed" not in figures


def write(file: Path, name: str, figures: dict[str, Any]) -> None:
    known = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**known, name: figures}, indent=1, default=str))


if __name__ == "__main__":
    raise SystemExit(main())
