"""Large checkpoints, tensor by tensor: read from shards, merged with adapters, written beside a graph."""
