"""Speech servers of the Wyoming protocol: recognisers and voices, elsewhere or as processes of this server's.

What they send is a stranger's: events are bounded before they are read, and nothing that was said or heard is
logged or written.
"""
