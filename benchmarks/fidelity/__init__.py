"""The live endpoint beside the simulator, over the same traces."""
