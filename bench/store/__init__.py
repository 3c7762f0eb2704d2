"""What it costs to keep records in a store, and what it costs that they are on disk."""
