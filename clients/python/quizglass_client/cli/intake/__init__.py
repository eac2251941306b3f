"""What is to become entries, as a command line names it, and what came of that before; `imports/` reads each format."""
