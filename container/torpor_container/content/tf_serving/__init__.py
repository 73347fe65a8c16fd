"""TensorFlow Serving's JSON over REST: rows and columns of named tensors, and the texts of its errors."""
