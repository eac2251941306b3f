"""Turns the bytes that clients send into pixels, in processes that can be ended.

header     what a file claims, read from its first bytes: size, form, what decoding will cost
structure  refuses files that are made to be long to parse: scans, segments, chunks
rgb        decodes to upright RGB with Pillow, in strips
worker     the process in which that happens, under limits of its own; imports nothing else of the server but
           `parent_death`
process    starts one, gives it pictures, ends it
decoder    who is decoded where and when, and what a client is told
"""
