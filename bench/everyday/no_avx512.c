/* Makes a process find a CPU without AVX-512 and AMX. Preload it: LD_PRELOAD=./no_avx512.so python ...
 *
 * ONNX Runtime and llama.cpp choose their kernels by what CPUID says, and ONNX Runtime has no option to be told less.
 * Where the CPU can fault on CPUID (`cpuid_fault` in /proc/cpuinfo), Linux makes every CPUID of a process a SIGSEGV
 * (arch_prctl(2), ARCH_SET_CPUID). It is answered here by the CPU's own words with bits cleared, so all else runs at
 * full speed, and on the very cores that the comparison is with. Threads inherit it; what a process executes is
 * preloaded anew. What ran before this constructor, glibc's choice of memcpy and the like, has seen the whole CPU.
 *
 * Bits are those of Intel's Architectures Software Developer's Manual, volume 2A, CPUID, leaf 7. AVX-VNNI goes too: no
 * CPU has it that is older than AVX-512. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012
#define BIT(n) (1u << (n))

/* Sub-leaf 0: F, DQ, IFMA, PF, ER, CD, BW, VL; VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ; 4VNNIW, 4FMAPS, VP2INTERSECT,
 * AMX-BF16, FP16, AMX-TILE, AMX-INT8. */
static const unsigned EBX_0 = BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31);
static const unsigned ECX_0 = BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14);
static const unsigned EDX_0 = BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25);
/* Sub-leaf 1: AVX-VNNI, BF16, AMX-FP16, AVX-IFMA; AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, AVX-VNNI-INT16, AVX10. */
static const unsigned EAX_1 = BIT(4) | BIT(5) | BIT(21) | BIT(23);
static const unsigned EDX_1 = BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19);

static struct sigaction others;

static long let_cpuid(unsigned long on)
{
    return syscall(SYS_arch_prctl, ARCH_SET_CPUID, on);
}

static void answer(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)registers[REG_RIP];
    (void)signal;
    if (info->si_code != SI_KERNEL || code[0] != 0x0f || code[1] != 0xa2) { /* no CPUID: a fault like any other */
        sigaction(SIGSEGV, &others, NULL);
        return;
    }
    unsigned leaf = (unsigned)registers[REG_RAX], sub_leaf = (unsigned)registers[REG_RCX], a, b, c, d;
    let_cpuid(1);
    __cpuid_count(leaf, sub_leaf, a, b, c, d);
    let_cpuid(0);
    if (leaf == 7 && sub_leaf == 0) {
        b &= ~EBX_0;
        c &= ~ECX_0;
        d &= ~EDX_0;
    } else if (leaf == 7 && sub_leaf == 1) {
        a &= ~EAX_1;
        d &= ~EDX_1;
    }
    registers[REG_RAX] = a;
    registers[REG_RBX] = b;
    registers[REG_RCX] = c;
    registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction ours = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    if (sigaction(SIGSEGV, &ours, &others) || let_cpuid(0))
        _exit(77); /* better no figures than those of the whole CPU */
}
