"""What it costs to keep records in a space, and what it costs that they are on disk."""
