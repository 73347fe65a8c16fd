"""A stand-in for SageMaker training: runs scripts on this machine, and puts their models where AWS would."""
