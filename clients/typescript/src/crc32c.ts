const CASTAGNOLI = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0x82f63b78 : byte >>> 1;
  return byte;
});

/** CRC-32C (Castagnoli) of bytes, RFC 3720, 0 to 2^32 - 1. */
export function crc32c(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) crc = (crc >>> 8) ^ CASTAGNOLI[(crc ^ byte) & 255]!;
  return ~crc >>> 0;
}
