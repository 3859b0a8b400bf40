"""Which kernel and which model, by what is labelled."""
