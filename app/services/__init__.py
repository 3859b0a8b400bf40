"""What users do, in rooms that point downwards; services own the transactions and the learner of each project."""
