"""The server's side of the generator process: started, supervised, called, and started again."""
