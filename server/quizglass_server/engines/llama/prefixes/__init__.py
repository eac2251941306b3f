"""What the KV cache holds, shares between requests, parks beside it and saves over a restart."""
