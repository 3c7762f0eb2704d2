"""What it costs to hand data over, beside the least that it can cost and beside a server in between."""
