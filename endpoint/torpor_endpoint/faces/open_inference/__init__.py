"""The face of the Open Inference Protocol (KServe's V2) over REST, with Triton's extensions that clients use."""
