"""The planning agent beside its baselines and the simplest rules: asked, turned into cases, told as rows."""
