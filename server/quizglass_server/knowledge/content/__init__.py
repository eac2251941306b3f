"""What entries consist of: checked, as plain text, in chunks, with a fingerprint of each picture.

Knows neither a database nor an encoder.
"""
