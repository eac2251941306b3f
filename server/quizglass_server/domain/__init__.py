"""The words that all layers share: turns, events, evidence, entries, sightings, regions.

Plain values; they know nothing but each other.
"""
