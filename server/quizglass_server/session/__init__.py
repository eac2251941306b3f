"""Dialogues that clients carry: what a turn takes from the ones before, and the signed token it travels in.

Nothing is kept between two turns but the key. Knows no gRPC, no models and no pictures.
"""
