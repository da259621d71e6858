/* image_loader_linux.h - the directories that a root file system's loader searches by itself */
#pragma once

#include <stdbool.h>

enum {
    IMAGE_LOADER_SIZE = 256
};

/* Absolute directories; "": the root has no loader of that kind. */
struct image_loader {
    char dir[IMAGE_LOADER_SIZE];    /* of programs for this machine */
    char dir_32[IMAGE_LOADER_SIZE]; /* of 32 bit programs that the same CPU runs */
    bool is_musl;
};

/*
 * Looks at the files of the root, and runs none. glibc searches the directory of its libc.so.6,
 * wherever a distribution put it. musl searches the directories of /etc/ld-musl-ARCH.path, by
 * default /lib, /usr/local/lib and /usr/lib: `dir` is the last.
 */
void image_loader_find(int root, struct image_loader *ret);
