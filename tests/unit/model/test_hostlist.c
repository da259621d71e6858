/* test_hostlist.c - lists of host names: reading, sorting and writing */

#include "base/mem.h"
#include "model/hostlist.h"
#include "prop.h"
#include "test.h"

static char *joined(const struct hostlist *h)
{
    struct buf out = {0};

    for (size_t i = 0; i < h->names.n; i++)
        buf_printf(&out, "%s%s", i > 0 ? " " : "", h->names.at[i]);
    return buf_steal(&out);
}

/* Outputs of `scontrol show hostnames`, `hostlist` and `hostlistsorted` of Slurm 22.05. */
static void expands_compresses_and_sorts_as_scontrol(void **state)
{
    static const struct {
        const char *text;
        const char *names;
        const char *compressed;
        const char *sorted;
    } cases[] = {
        {"", "", "", ""},
        {"n1", "n1", "n1", "n1"},
        {"n[1-3,07-10],g1", "n1 n2 n3 n07 n08 n09 n10 g1", "n[1-3,07-10],g1", "g1,n[1-3,07-10]"},
        {"r[1-2]x[1-2]", "r1x1 r1x2 r2x1 r2x2", "r1x[1-2],r2x[1-2]", "r1x[1-2],r2x[1-2]"},
        {"a[1-2][3-4]", "a13 a14 a23 a24", "a[13-14,23-24]", "a[13-14,23-24]"},
        {"n[1-3]-[1-2]", "n1-1 n1-2 n2-1 n2-2 n3-1 n3-2", "n1-[1-2],n2-[1-2],n3-[1-2]",
         "n1-[1-2],n2-[1-2],n3-[1-2]"},
        {"n1,n3,n2,n08,n09,n10", "n1 n3 n2 n08 n09 n10", "n[1,3,2,08-10]", "n[1-3,08-10]"},
        {"n08,n9,n10,n011", "n08 n9 n10 n011", "n[08,9-10,011]", "n[08,9-10,011]"},
        {"n99,n100,n101", "n99 n100 n101", "n[99-101]", "n[99-101]"},
        {"b,a[1-2],a3", "b a1 a2 a3", "b,a[1-3]", "a[1-3],b"},
        {"[1-3]", "1 2 3", "[1-3]", "[1-3]"},
        {"n[01-3],", "n01 n02 n03", "n[01-03]", "n[01-03]"},
        {" n1, n2", "n1 n2", "n[1-2]", "n[1-2]"},
        {"n1 n2", "n1 n2", "n[1-2]", "n[1-2]"},
        {"n10,n9,n1,n2,m1", "n10 n9 n1 n2 m1", "n[10,9,1-2],m1", "m1,n[1-2,9-10]"},
        {"n1,n01,n001", "n1 n01 n001", "n[1,01,001]", "n[1,01,001]"},
        {"n[00-0]", "n00", "n00", "n00"},
        {"n12345678901234567890", "n12345678901234567890", "n12345678901234567890",
         "n12345678901234567890"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(hostlist_done) struct hostlist h = {0};
        AUTO(err_freep) struct err *e = hostlist_parse(str_of(cases[i].text), HOSTLIST_MAX, &h);
        AUTO_FREE char *names = NULL;
        AUTO_FREE char *compressed = NULL;
        AUTO_FREE char *sorted = NULL;

        if (e)
            fail_msg("%s: %s", cases[i].text, err_message(e));
        names = joined(&h);
        compressed = hostlist_format(&h);
        hostlist_sort(&h);
        sorted = hostlist_format(&h);
        assert_string_equal(names, cases[i].names);
        assert_string_equal(compressed, cases[i].compressed);
        assert_string_equal(sorted, cases[i].sorted);
    }
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"n[3-1]", "hostlist: range '3-1' runs backwards"},
        {"n[1-", "hostlist: '[' without ']'"},
        {"n1]", "hostlist: ']' without '['"},
        {"n[]", "hostlist: '' is not a number of at most 9 digits"},
        {"n[ 1-2 ]", "hostlist: ' 1' is not a number of at most 9 digits"},
        {"n[1-x]", "hostlist: 'x' is not a number of at most 9 digits"},
        {"n[1-1234567890]", "hostlist: '1234567890' is not a number of at most 9 digits"},
        {"n[1-99999999]", "hostlist: more than 100 names"},
        {"n[1-9]n[1-9]n[1-9]", "hostlist: more than 100 names"},
        {"a[1][1][1][1][1]", "hostlist: more than 4 brackets in a name"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hostlist h = {0};
        AUTO(err_freep) struct err *e = hostlist_parse(str_of(cases[i].text), 100, &h);

        if (!e)
            fail_msg("taken: %s", cases[i].text);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(h.names.n, 0);
    }
}

static void reads_back_what_it_writes(void **state)
{
    struct prop_seeds seeds = prop_seeds(500);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop p = {seed};
        AUTO(hostlist_done) struct hostlist h = {0};
        AUTO(hostlist_done) struct hostlist back = {0};
        AUTO_FREE char *text = NULL;
        AUTO_FREE char *first = NULL;
        AUTO_FREE char *second = NULL;
        AUTO(err_freep) struct err *e = NULL;

        for (size_t i = prop_below(&p, 40); i > 0; i--) {
            AUTO_FREE char *name = mem_format("%c%0*d", (int)('a' + prop_below(&p, 2)),
                                              (int)prop_below(&p, 4), (int)prop_below(&p, 120));

            hostlist_add(&h, name);
        }
        if (prop_chance(&p, 50))
            hostlist_sort(&h);
        text = hostlist_format(&h);
        e = hostlist_parse(str_of(text), HOSTLIST_MAX, &back);
        if (e)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err_message(e));
        first = joined(&h);
        second = joined(&back);
        assert_string_equal(first, second);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands_compresses_and_sorts_as_scontrol),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(reads_back_what_it_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
