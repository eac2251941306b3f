"""What hostile input costs: memory beyond idle, and the turns of others beside it, against a real server."""
