"""What all formats share: the value that they become, files read from front to back, checks, pictures, errors."""
