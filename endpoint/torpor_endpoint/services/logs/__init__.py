"""CloudWatch Logs over what instances and training jobs print: files that others write, read in bounded pages."""
