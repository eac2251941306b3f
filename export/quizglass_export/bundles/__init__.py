"""Looking into finished bundles, comparing, checking and changing them."""
