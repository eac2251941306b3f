"""The words that all layers share and that stay on the server: turns, evidence, entries, sightings, what was detected.

Plain values; they know nothing but each other and `quizglass.values`, where those that cross the wire are declared.
"""
