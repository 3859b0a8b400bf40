"""What the service runs on: the writer thread of a project, jobs in the background, the clock, ids, mapped files."""
