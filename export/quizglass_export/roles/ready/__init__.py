"""Roles whose model files somebody else made: looked into, compared with what there is, and copied byte by byte."""
