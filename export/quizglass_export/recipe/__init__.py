"""From a recipe file (`bundle.toml`) to a bundle: what to export, in which steps, resumable."""
