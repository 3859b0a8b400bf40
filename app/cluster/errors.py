"""What may happen to a cluster."""


class ClusterLost(RuntimeError):  # noqa: N818 - what happened
    """The cluster does not answer, or has lost what it was to keep."""
