/*
 * slurm_shares_main.c - shares of the associations on stdin as sshare prints them, for comparing
 * with a real Slurm (tests/peers/slurm_shares.py)
 *
 * The argument is `tree` or `classic`. A line is an association, the accounts above it first:
 * PARENT (its line, from 0; -1: the root) USER (or -) SHARES (or parent) USAGE (in 1/1000000)
 * ACCOUNT
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "kinds/slurm/slurm_share_rows.h"
#include "slurm/sshare.h"

struct line {
    char *account;
    char *user; /* NULL: an account */
};

static VEC(struct slurm_share) shares;
static VEC(struct line) lines;

static struct err *add_line(struct str line)
{
    struct str rest = line;
    struct str parent = str_cut(&rest, ' ');
    struct str user = str_cut(&rest, ' ');
    struct str raw = str_cut(&rest, ' ');
    struct str usage = str_cut(&rest, ' ');
    struct slurm_share s = {.is_user = !str_equal(user, STR("-"))};
    int64_t n = 0;

    TRY(num_parse_int64(parent, -1, (int64_t)shares.n - 1, &n));
    s.parent = (int32_t)n;
    n = SLURM_SHARES_OF_PARENT;
    if (!str_equal(raw, STR("parent")))
        TRY(num_parse_int64(raw, 0, INT32_MAX - 1, &n));
    s.shares = (int32_t)n;
    TRY(num_parse_int64(usage, 0, INT64_MAX, &n));
    s.usage = (long double)n / 1000000.0L;
    vec_add(&shares, s);
    vec_add(&lines, ((struct line){mem_strndup(rest.at, rest.size),
                                   s.is_user ? mem_strndup(user.at, user.size) : NULL}));
    return NULL;
}

static struct err *read_lines(void)
{
    AUTO_FREE char *text = NULL;
    size_t size = 0;
    ssize_t n;

    while ((n = getline(&text, &size, stdin)) > 0)
        TRY(add_line((struct str){text, (size_t)n - (text[n - 1] == '\n')}));
    return NULL;
}

static json_t *make_rows(enum slurm_share_algorithm algorithm)
{
    json_t *rows = json_array();

    slurm_share_find(shares.at, shares.n, algorithm, 1);
    for (size_t i = 0; i < shares.n; i++) {
        struct slurm_share_name name = {lines.at[i].account, lines.at[i].user, NULL, 0};

        for (int32_t up = shares.at[i].parent; up >= 0; up = shares.at[up].parent)
            name.depth++;
        (void)json_array_append_new(rows, slurm_share_row(&name, &shares.at[i], algorithm));
    }
    return rows;
}

int main(int argc, char **argv)
{
    static const char *const words[] = {
        "-aP", "--format=account,user,rawshares,normshares,rawusage,normusage,effectvusage,"
               "fairshare,levelfs"};
    bool is_classic = argc > 1 && strcmp(argv[1], "classic") == 0;
    struct slurm_words parsed = {0};
    AUTO(buf_done) struct buf out = {0};
    AUTO(json_freep) json_t *rows = NULL;
    struct err *e = read_lines();

    if (!e)
        e = slurm_words_parse(sshare_options, false, COUNT(words), words, &parsed);
    if (!e) {
        rows = make_rows(is_classic ? SLURM_SHARE_CLASSIC : SLURM_SHARE_TREE);
        e = sshare_print(&parsed, rows, NULL, &out);
    }
    if (e) {
        (void)fprintf(stderr, "%s\n", err_message(e));
        err_free(e);
        return 1;
    }
    (void)fwrite(out.at, 1, out.size, stdout);
    return 0;
}
