"""How the cost of workflow patterns grows with the number of branches, beside plain dependencies in the same run."""
