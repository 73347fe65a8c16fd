"""Packs copies of inference components onto instances: values in, values out. The fleet and the simulator share it."""
