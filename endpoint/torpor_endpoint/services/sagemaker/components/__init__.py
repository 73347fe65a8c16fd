"""The operations on inference components: their rules, shapes and errors, and the variants that have room for them."""
