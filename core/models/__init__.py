"""Models of a pool of items, some of which are labelled: label regression, softmax, forest."""
