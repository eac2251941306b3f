"""What the generator process is measured for: streams, pictures, cancelling, neighbours, and what its parts earn."""
