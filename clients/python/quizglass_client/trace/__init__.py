"""Writes down how an answer came about: as JSON for programs, or as one page that needs nothing but itself."""
