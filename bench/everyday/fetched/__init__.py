"""What comes from packages of Debian when the benchmark runs: fetching it, and the photographed things in it."""
