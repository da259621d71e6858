/* image_loader_linux.c - finds the loader's directories in a root file system */

#include "node/image/image_loader_linux.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/elf.h"
#include "base/file.h"
#include "base/mem.h"

enum {
    MUSL_PATH_MAX = 4096
};

/* Directories of libc.so.6 in Debian, Fedora, SUSE, Arch and others. */
static const char *const glibc_dirs[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/i386-linux-gnu",
    "/lib/i386-linux-gnu",
    "/usr/lib/arm-linux-gnueabihf",
    "/lib/arm-linux-gnueabihf",
    "/usr/lib64",
    "/lib64",
    "/usr/lib32",
    "/lib32",
    "/usr/lib",
    "/lib",
};

static const char *const musl_arch[] = {"x86_64", "aarch64"};

static enum elf_class loader_class(int root, const char *path)
{
    AUTO(fd_closep) int handle = file_open_below(root, path);
    char head[ELF_HEAD_SIZE] = {0};

    if (handle < 0)
        return ELF_OTHER;
    return elf_class_of((struct str){head, file_read_head(handle, head, sizeof(head))});
}

static void loader_set(char ret[IMAGE_LOADER_SIZE], const char *dir)
{
    if (!ret[0] && strlen(dir) < IMAGE_LOADER_SIZE)
        (void)snprintf(ret, IMAGE_LOADER_SIZE, "%s", dir);
}

static void find_glibc(int root, struct image_loader *l)
{
    for (size_t i = 0; i < COUNT(glibc_dirs); i++) {
        AUTO_FREE char *path = mem_format("%s/libc.so.6", glibc_dirs[i]);
        enum elf_class class = loader_class(root, path);

        if (class == ELF_NATIVE)
            loader_set(l->dir, glibc_dirs[i]);
        if (class == ELF_NATIVE_32)
            loader_set(l->dir_32, glibc_dirs[i]);
    }
}

/* Takes the last directory of musl's search path: directories of the image itself come first. */
static void musl_search_path(int root, const char *arch, struct image_loader *l)
{
    AUTO_FREE char *path = mem_format("/etc/ld-musl-%s.path", arch);
    AUTO(fd_closep) int handle = file_open_below(root, path);
    char text[MUSL_PATH_MAX] = "";
    size_t n = handle < 0 ? 0 : file_read_head(handle, text, sizeof(text) - 1);
    char *line = text;

    text[n] = '\0';
    for (char *end = text + n; end > text && strchr(":\n", end[-1]); end--)
        end[-1] = '\0';
    for (char *c = text; *c; c++)
        if (*c == ':' || *c == '\n')
            line = c + 1;
    loader_set(l->dir, line[0] == '/' ? line : "/usr/lib");
}

static void find_musl(int root, struct image_loader *l)
{
    for (size_t i = 0; i < COUNT(musl_arch); i++) {
        AUTO_FREE char *path = mem_format("/lib/ld-musl-%s.so.1", musl_arch[i]);

        if (loader_class(root, path) != ELF_NATIVE)
            continue;
        musl_search_path(root, musl_arch[i], l);
        l->is_musl = true;
    }
}

void image_loader_find(int root, struct image_loader *ret)
{
    *ret = (struct image_loader){0};
    find_glibc(root, ret);
    if (!ret->dir[0])
        find_musl(root, ret);
}
