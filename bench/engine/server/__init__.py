"""What a whole server is measured for: load beyond what it can answer, kills, restarts."""
