"""Turns the bytes that clients send into pixels, in processes that can be ended.

How files are read is `quizglass.picture_files`, which the client shares.

pictures       what a picture may be at most, and decoding in this process
worker         the process in which that happens, under limits of its own; imports nothing else of the server but
               `parent_death`
messages       what crosses between the two processes
process        starts one, gives it pictures, ends it
decoder        which picture is decoded where and when, and the client's answer
resampling     sound at another rate
filtering      the operator's filter of frames, before anything else sees them
picture_cache  decodes each content once, and keeps the most recent pictures
markup/        documents: Markdown and HTML as blocks of plain text
"""
