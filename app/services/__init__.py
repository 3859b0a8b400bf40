"""What users do: one file per thing; owns transactions and the learner of each project."""
