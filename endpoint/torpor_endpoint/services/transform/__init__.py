"""Batch transform: CreateTransformJob, DescribeTransformJob, ListTransformJobs, StopTransformJob."""
