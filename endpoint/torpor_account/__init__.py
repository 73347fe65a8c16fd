"""The AWS account of this machine: S3, IAM, STS, CloudWatch, Logs, the door. It knows no model and no endpoint."""
