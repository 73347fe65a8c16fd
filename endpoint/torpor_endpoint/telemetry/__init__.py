"""Telemetry by OTLP: the spans of sampled requests, and the metrics, for an OpenTelemetry collector."""
