"""What the `asknext` command does."""
