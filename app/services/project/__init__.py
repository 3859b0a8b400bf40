"""What a project is: its settings, classes, answers, leases and learner in memory, and the list of projects."""
