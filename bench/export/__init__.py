"""The exporters, measured: parity of every architecture, precisions, heads, and the memory of a large export."""
