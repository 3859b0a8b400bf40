"""What people want to know of a model: when to stop, why a prediction, a map of the pool."""
