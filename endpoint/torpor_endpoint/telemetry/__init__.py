"""Telemetry of requests: spans and metrics by OTLP for an OpenTelemetry collector, and a line in the log for each."""
