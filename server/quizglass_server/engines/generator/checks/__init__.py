"""What is looked at before anything is served: model files, the compiled library, and whether it computes right."""
