"""Looking whether a store is as it was written, and mending, copying or putting one back."""
