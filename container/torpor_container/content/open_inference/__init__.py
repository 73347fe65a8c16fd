"""The Open Inference Protocol (KServe's V2): named tensors in and out, in JSON, and in binary data behind it."""
