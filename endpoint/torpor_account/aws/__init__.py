"""The wire protocols of AWS's own services, driven by botocore's service models; no operation lives here."""
