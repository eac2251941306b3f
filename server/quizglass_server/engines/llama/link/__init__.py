"""What crosses between the server and its generator process: frames over a socket, messages, plain values."""
