"""Files of pictures: what they claim, what they may cost, and their pixels, upright and in sRGB.

Server, client and exporter decode by this code alone, so that a picture has the same pixels wherever that is done.

header     what a file claims, read from its first bytes: size, form, what decoding will cost
structure  refuses files that are made to be long to parse: scans, segments, chunks; finds where a JPEG breaks off
png        the chunks of a PNG that say how it looks; all others are passed over unread
colour     converts what a colour profile describes to sRGB
rgb        decodes to upright sRGB with Pillow, in strips
others     opens formats that servers do not take, for those who convert them
"""
