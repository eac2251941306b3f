"""What it costs to be open to others and to be watched, and whether strangers are turned away."""
