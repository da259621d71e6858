/* test_image_loader.c - tests of the search for a root file system's loader, in made trees */

#include <fcntl.h>

#include "made_tree.h"
#include "node/image/image_loader_linux.h"

struct tree_file {
    const char *name;
    int bits;         /* 64, 32: an ELF file; 0: text or a link */
    const char *text; /* "->TARGET": a link */
};

static void tree_add(const struct made_tree *t, const struct tree_file *f)
{
    if (f->bits)
        tree_elf(t, f->name, f->bits);
    else if (text_starts_with(f->text, "->"))
        tree_link(t, f->name, f->text + 2);
    else
        tree_text(t, f->name, f->text);
}

static void finds_the_directory_of_each_kind_of_image(void **state)
{
    static const struct {
        const char *dir;
        const char *dir_32;
        struct tree_file files[4];
    } cases[] = {
        {"/usr/lib/x86_64-linux-gnu", /* Debian */
         "",
         {{"usr/lib/x86_64-linux-gnu/libc.so.6", 64, NULL}, {"lib", 0, "->usr/lib"}}},
        {"/lib/x86_64-linux-gnu", /* before the merge of /usr */
         "/usr/lib/i386-linux-gnu",
         {{"lib/x86_64-linux-gnu/libc.so.6", 64, NULL},
          {"usr/lib/i386-linux-gnu/libc.so.6", 32, NULL}}},
        {"/usr/lib64", /* Fedora */
         "/usr/lib",
         {{"usr/lib64/libc.so.6", 64, NULL}, {"usr/lib/libc.so.6", 32, NULL}}},
        {"/usr/lib64", /* Arch, where it is a link to lib */
         "/usr/lib32",
         {{"usr/lib/libc-2.33.so", 64, NULL},
          {"usr/lib/libc.so.6", 0, "->libc-2.33.so"},
          {"usr/lib32/libc.so.6", 32, NULL},
          {"usr/lib64", 0, "->lib"}}},
        {"/usr/lib", "", {{"lib/ld-musl-x86_64.so.1", 64, NULL}}}, /* Alpine */
        {"/opt/lib",
         "",
         {{"lib/ld-musl-x86_64.so.1", 64, NULL},
          {"etc/ld-musl-x86_64.path", 0, "/lib:/usr/lib\n/opt/lib\n"}}},
        {"", "", {{"bin/busybox", 64, NULL}}},
        {"", "", {{"usr/lib64/libc.so.6", 0, "no program"}}},
        {"", "", {{"usr/lib64/libc.so.6", 0, "->/../../../../usr/lib64/libc.so.6"}}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct made_tree t = {0};
        struct image_loader l = {0};
        AUTO(fd_closep) int root = -1;

        tree_init(&t);
        for (size_t k = 0; k < COUNT(cases[i].files) && cases[i].files[k].name; k++)
            tree_add(&t, &cases[i].files[k]);
        root = open(t.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        image_loader_find(root, &l);
        tree_done(&t);
        assert_string_equal(l.dir_32, cases[i].dir_32);
        assert_string_equal(l.dir, cases[i].dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_directory_of_each_kind_of_image),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
