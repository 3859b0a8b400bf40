"""Label Studio: AskNext as the ML backend that chooses its next task."""
