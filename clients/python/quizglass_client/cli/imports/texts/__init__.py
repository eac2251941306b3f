"""What a text says of itself: its front matter, its title, and of HTML its encoding. Knows nothing of files."""
