"""What protocols and the machinery that runs them cost."""
