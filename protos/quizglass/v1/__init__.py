"""Version 1 of the public contract; the code is generated from the .proto files beside it."""
