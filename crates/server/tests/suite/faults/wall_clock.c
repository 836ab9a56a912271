/* Preloaded into a server: its wall clock is as many seconds off as a file says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, at);
    const char *name = getenv("WALL_CLOCK_OFF");
    FILE *file = clock == CLOCK_REALTIME && name ? fopen(name, "r") : NULL;
    if (file) {
        long off = 0;
        if (fscanf(file, "%ld", &off) == 1) at->tv_sec += off;
        fclose(file);
    }
    return result;
}
