"""One file of routes per noun."""
