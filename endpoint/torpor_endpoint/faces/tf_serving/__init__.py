"""The face of TensorFlow Serving's REST API."""
