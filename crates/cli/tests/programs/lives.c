// Programs that live and end in unusual ways.
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *calls(void *nothing) {
    for (;;) syscall(SYS_getppid);
    return nothing;
}

int main(int count, char **words) {
    const char *which = count > 1 ? words[1] : "";
    pthread_t thread;
    if (!strcmp(which, "without-first-thread")) {
        pthread_create(&thread, NULL, calls, NULL);
        pthread_exit(NULL);
    }
    if (!strcmp(which, "two-threads")) {
        pthread_create(&thread, NULL, calls, NULL);
        for (;;) pause();
    }
    if (!strcmp(which, "in-vfork")) {
        // The parent stands in vfork as long as its child does not end.
        if (vfork() == 0) {
            // A pipe that stayed open would be read for as long.
            for (int descriptor = 0; descriptor < 3; descriptor++) close(descriptor);
            sleep(600);
            _exit(0);
        }
        return 0;
    }
    if (!strcmp(which, "of-32-bits")) {
        // i386 has getpid as 20 (which is writev of x86-64) and exit_group as 252.
        for (int i = 0; i < 1000; i++) {
            long number = 20;
            __asm__ volatile("int $0x80" : "+a"(number) : : "memory");
        }
        long number = 252;
        __asm__ volatile("int $0x80" : "+a"(number) : "b"(0) : "memory");
    }
    return 64;
}
