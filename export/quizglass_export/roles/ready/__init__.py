"""Roles with ready-made model files: looked into, compared with what there is, and copied byte by byte."""
