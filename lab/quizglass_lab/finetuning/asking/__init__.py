"""What can be asked: a checkpoint, a GGUF file, an endpoint; judges of answers; a turn of a policy without a server."""
