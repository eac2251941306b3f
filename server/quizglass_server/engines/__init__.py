"""What executes models. Nothing here knows gRPC's public services, policies or the domain's turns."""
