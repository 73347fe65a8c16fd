"""The instances of a variant played one after another, while nothing but placement joins them."""
