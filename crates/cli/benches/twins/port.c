/*
 * A virtual machine writes a byte to a port: out to this program and back, timed inside the machine. Its code runs in
 * ring 3 of 64-bit mode without an operating system, because a KVM in software runs only that at native speed.
 * Every exit is a sample. Arguments: CPU.
 */
#include "twin.h"
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

enum { SAMPLES = 2000, PORT = 0x80, STOP = 0x81 };

/* The guest's memory: 2 MiB from address 0, one large page. */
enum { MEMORY = 2 << 20, PML4 = 0x1000, PDPT = 0x2000, PD = 0x3000, CODE = 0x10000, RESULTS = 0x20000 };

/* RDI: where samples go, RSI: how many. */
extern const char guest_begin[], guest_end[];
__asm__(".pushsection .rodata\n"
        "guest_begin:\n"
        "   lfence; rdtsc; lfence\n"
        "   shl $32, %rdx; or %rdx, %rax; mov %rax, %rbx\n"
        "   mov $0x80, %edx\n"
        "   out %al, %dx\n"
        "   lfence; rdtsc; lfence\n"
        "   shl $32, %rdx; or %rdx, %rax; sub %rbx, %rax\n"
        "   mov %rax, (%rdi); add $8, %rdi\n"
        "   dec %rsi; jnz guest_begin\n"
        "   mov $0x81, %edx\n"
        "   out %al, %dx\n"
        "guest_end:\n"
        ".popsection\n");

static struct kvm_segment flat(int selector, int type)
{
    return (struct kvm_segment){
        .limit = 0xffffffff, .selector = selector, .type = type, .present = 1, .dpl = 3, .s = 1, .g = 1,
        .l = type == 11, .db = type != 11,
    };
}

int main(int argc, char **argv)
{
    pin(cpu_of(argc, argv, 1));
    int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    check(kvm >= 0, "/dev/kvm");
    int vm = ioctl(kvm, KVM_CREATE_VM, 0);
    check(vm >= 0, "KVM_CREATE_VM");

    char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "mmap");
    *(uint64_t *)(memory + PML4) = PDPT | 7; /* present, writable, user */
    *(uint64_t *)(memory + PDPT) = PD | 7;
    *(uint64_t *)(memory + PD) = 0 | 0x87; /* … and large */
    memcpy(memory + CODE, guest_begin, guest_end - guest_begin);
    struct kvm_userspace_memory_region region = {.memory_size = MEMORY, .userspace_addr = (uintptr_t)memory};
    check(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) == 0, "KVM_SET_USER_MEMORY_REGION");

    int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
    check(vcpu >= 0, "KVM_CREATE_VCPU");
    int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
    struct kvm_run *run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
    check(run != MAP_FAILED, "mmap of the virtual processor");

    struct {
        struct kvm_cpuid2 head;
        struct kvm_cpuid_entry2 entries[256];
    } cpuid = {.head.nent = 256};
    check(ioctl(kvm, KVM_GET_SUPPORTED_CPUID, &cpuid) == 0, "KVM_GET_SUPPORTED_CPUID");
    check(ioctl(vcpu, KVM_SET_CPUID2, &cpuid) == 0, "KVM_SET_CPUID2");

    struct kvm_sregs sregs;
    check(ioctl(vcpu, KVM_GET_SREGS, &sregs) == 0, "KVM_GET_SREGS");
    sregs.cs = flat(0x1b, 11);
    sregs.ds = sregs.es = sregs.fs = sregs.gs = sregs.ss = flat(0x23, 3);
    sregs.cr0 = 0x80050033; /* paging, protection, x87 */
    sregs.cr3 = PML4;
    sregs.cr4 = 0x620;  /* PAE, SSE */
    sregs.efer = 0x500; /* long mode, enabled and active */
    check(ioctl(vcpu, KVM_SET_SREGS, &sregs) == 0, "KVM_SET_SREGS");
    struct kvm_regs regs = {.rip = CODE, .rdi = RESULTS, .rsi = SAMPLES, .rflags = 0x3002}; /* ports open to ring 3 */
    check(ioctl(vcpu, KVM_SET_REGS, &regs) == 0, "KVM_SET_REGS");

    for (;;) {
        check(ioctl(vcpu, KVM_RUN, 0) == 0, "KVM_RUN");
        if (run->exit_reason != KVM_EXIT_IO) {
            fprintf(stderr, "the guest left for reason %u\n", run->exit_reason);
            return 1;
        }
        if (run->io.port == STOP)
            break;
    }
    print_median((uint64_t *)(memory + RESULTS), SAMPLES, 1);
}
