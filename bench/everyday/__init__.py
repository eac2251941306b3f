"""The everyday bundle beside what it is for: real photographs, real passages, real facts.

Photographs and passages are fetched when a benchmark runs, from packages of Debian; none is in this repository.
"""
