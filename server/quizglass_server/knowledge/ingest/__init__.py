"""From an entry as given to rows ready to be written: decoded, cut and embedded."""
