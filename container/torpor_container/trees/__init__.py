"""Tree models as flat arrays: their layout, their file, and the C extension that walks them."""
