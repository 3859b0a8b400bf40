"""The model of a project: trained, restored, asked for predictions and explanations, drawn as a map."""
