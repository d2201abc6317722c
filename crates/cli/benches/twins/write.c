/* Plain writes: what is in a file, from memory into another one, by large write() calls. Prints the seconds they took. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: write FROM TO BYTES-A-CALL\n");
        return 1;
    }
    size_t call = strtoull(argv[3], NULL, 10);
    int from = open(argv[1], O_RDONLY);
    struct stat status;
    if (from < 0 || fstat(from, &status) < 0)
        fail(argv[1]);
    size_t length = (size_t)status.st_size;
    char *bytes = malloc(length);
    for (size_t there = 0; there < length;) {
        ssize_t count = read(from, bytes + there, length - there);
        if (count <= 0)
            fail(argv[1]);
        there += (size_t)count;
    }
    double begun = now();
    int to = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (to < 0)
        fail(argv[2]);
    for (size_t done = 0; done < length;) {
        size_t rest = length - done;
        ssize_t count = write(to, bytes + done, rest < call ? rest : call);
        if (count < 0)
            fail(argv[2]);
        done += (size_t)count;
    }
    close(to);
    printf("%.9f\n", now() - begun);
    return 0;
}
