/*
 * libc_old.h - the calls of libc whose symbols are newer than glibc 2.17, in an older form
 *
 * The share library runs in images of any age. tests/lint/glibc checks the result.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
/* 2.34 moved these from libdl to libc. */
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
#else
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
__asm__(".symver dlopen,dlopen@GLIBC_2.17");
#endif

struct file_id {
    uint64_t device;
    uint64_t inode;
};

/* fstat is new in 2.33. False: errno says why. */
static inline bool file_identify(int fd, struct file_id *ret)
{
    struct stat st;

    if (syscall(SYS_fstat, fd, &st) < 0)
        return false;
    *ret = (struct file_id){(uint64_t)st.st_dev, (uint64_t)st.st_ino};
    return true;
}

/* fcntl is new in 2.28. */
static inline int file_lock(int fd, int command, struct flock *lock)
{
    return (int)syscall(SYS_fcntl, fd, command, lock);
}
