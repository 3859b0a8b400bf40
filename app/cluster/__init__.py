"""Beyond one machine: Dask holds the pool in partitions and adds up the sums of training."""

from app.cluster.connection import Cluster, ClusterLost

__all__ = ["Cluster", "ClusterLost"]
