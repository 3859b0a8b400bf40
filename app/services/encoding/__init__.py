"""Processes that encode raw items, so that the service can do something else."""
