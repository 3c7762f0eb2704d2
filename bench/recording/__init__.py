"""What it costs that a run of a workflow is recorded."""
