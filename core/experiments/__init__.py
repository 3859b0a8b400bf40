"""Learning curves and figures on data whose labels are known."""
