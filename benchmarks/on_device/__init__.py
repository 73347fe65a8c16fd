"""Measures models on a device, on a machine that has one: `make test-gpu`.

`python -m benchmarks.on_device --out FOLDER` writes `figures.json` there after each part, so that a part that fails
takes no earlier figure along. With `--simulated` it runs on any machine and measures nothing that means anything.
"""
