"""One file a format: draws what is to be imported, and reads it back with a plain reader of the same format."""
