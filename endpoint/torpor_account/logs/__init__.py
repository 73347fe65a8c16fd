"""CloudWatch Logs over the output of instances and training jobs: reads the files that they write, in bounded pages."""
