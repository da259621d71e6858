/* made_tree.h - directories that a test makes: text files, links, and files that look like programs
 */
#pragma once

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "test.h"

struct made_tree {
    char dir[64];
};

static inline void tree_init(struct made_tree *t)
{
    (void)snprintf(t->dir, sizeof(t->dir), "/tmp/mete-test-tree-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
}

static inline void tree_done(struct made_tree *t)
{
    assert_null(dir_remove(t->dir));
}

/* The path of `name` in the tree; its parents are made. The caller frees it. */
static inline char *tree_path(const struct made_tree *t, const char *name)
{
    char *path = mem_format("%s/%s", t->dir, name);
    AUTO_FREE char *parent = mem_strndup(path, (size_t)(strrchr(path, '/') - path));

    assert_null(dir_make(parent, 0755));
    return path;
}

static inline void tree_bytes(const struct made_tree *t, const char *name, struct str bytes)
{
    AUTO_FREE char *path = tree_path(t, name);

    assert_null(file_write(path, 0755, bytes));
}

static inline void tree_text(const struct made_tree *t, const char *name, const char *text)
{
    tree_bytes(t, name, str_of(text));
}

static inline void tree_link(const struct made_tree *t, const char *name, const char *target)
{
    AUTO_FREE char *path = tree_path(t, name);

    assert_int_equal(symlink(target, path), 0);
}

/* The first bytes of an ELF file for this machine, 64 or 32 bit. */
static inline void tree_elf(const struct made_tree *t, const char *name, int bits)
{
#if defined(__aarch64__)
    const char machine = bits == 64 ? (char)183 : 40;
#else
    const char machine = bits == 64 ? 62 : 3;
#endif
    char head[64] = "\177ELF";

    head[4] = bits == 64 ? 2 : 1;
    head[5] = 1;
    head[16] = 3;
    head[18] = machine;
    tree_bytes(t, name, (struct str){head, sizeof(head)});
}
