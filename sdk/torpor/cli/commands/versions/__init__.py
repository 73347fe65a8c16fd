"""`torpor versions` and `torpor label`: shows the versions of a model, and moves the labels that point to them."""
