/* stamp.c - a job that takes the time first: stamp FILE writes ns of CLOCK_MONOTONIC */

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec t = {0};
    char text[32];
    int size;
    int fd;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    size = snprintf(text, sizeof(text), "%lld\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
    return fd >= 0 && write(fd, text, (size_t)size) == size ? 0 : 1;
}
