"""The export of each kind of role: exported, described for the manifest, compared with PyTorch."""
