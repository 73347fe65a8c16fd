"""LightGBM's text models, served as flat trees: its library is not needed."""
