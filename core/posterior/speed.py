"""What the cost models reckon with: nanoseconds of two cores of about 3 GHz, measured; only their ratios matter."""

FLOP = 0.008  # of a factorisation
SOLVE = 0.012  # of a triangular solve, an inverse, or a product of matrices
PAIR = 0.5  # of two levels in a row, counted
LOOKUP = 1.0  # of two levels in a row, looked up
GATHER = 0.3  # of one table entry in a product
ENTRY = 10.0  # of a large matrix, to have it filled
DUAL_UPDATE = 1.0  # per n^2
LEVEL_UPDATE = 2.5  # per S^2
