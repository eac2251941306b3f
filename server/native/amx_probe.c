/* Ends with 0 where this compiler and this CPU get AMX right, as ggml uses it.
 *
 * Some compilers store only the first 8 of the 64 bytes that `_tile_loadconfig` reads (gcc 12.2 among them): tiles then
 * have no rows, and the first instruction on one is illegal. So a configuration is loaded from a local variable, as ggml
 * does, and a product of two tiles is compared with the sum it must be. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, TILES = 8, ROWS = 16, BYTES = 64 };

struct configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static void __attribute__((noinline)) configure(void) {
    struct configuration tiles = {0};
    tiles.palette = 1;
    for (int tile = 0; tile < TILES; tile++) {
        tiles.rows[tile] = ROWS;
        tiles.row_bytes[tile] = BYTES;
    }
    _tile_loadconfig(&tiles);
}

int main(void) {
    static int8_t left[ROWS][BYTES], right[ROWS][BYTES];
    static int32_t product[ROWS][BYTES / 4];

    if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) != 0)
        return 2;
    memset(left, 1, sizeof left);
    memset(right, 2, sizeof right);
    configure();
    _tile_zero(0);
    _tile_loadd(1, left, BYTES);
    _tile_loadd(2, right, BYTES);
    _tile_dpbssd(0, 1, 2);
    _tile_stored(0, product, BYTES);
    _tile_release();
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < BYTES / 4; column++)
            if (product[row][column] != 2 * BYTES)
                return 1;
    return 0;
}
