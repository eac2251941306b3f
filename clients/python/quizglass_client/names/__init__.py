"""What the names of files say: of which kind they are, and whether a camera gave them. Opens no file."""
