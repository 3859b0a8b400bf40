"""Beyond one machine: Dask holds the pool in partitions and adds up the sums of training."""
