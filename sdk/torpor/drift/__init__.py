"""Compares what a model is asked with a baseline: reads captured requests, and writes the files of AWS's analyzer."""
