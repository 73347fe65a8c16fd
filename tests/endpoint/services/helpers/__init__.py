"""Each AWS service as its tests call it: in memory, over a folder, or behind a port."""
