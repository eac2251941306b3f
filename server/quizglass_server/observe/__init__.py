"""What a running server shows of itself: metrics, and how far its stop has come.

Knows no requests and no models: the rooms above count here what happens in them.
"""
