/*
 * audit_verify.c - mete audit verify: the chain of hashes in the audit's files
 *
 * The files are read as they are, without the server. Where the server answers, its last line must
 * be in the files: so the removal of the last lines is found, too. Removed old files are no fault
 * if a later line of the chain names the last line that was removed with them (verb forget).
 */

#include <inttypes.h>

#include "access/audit_chain.h"
#include "access/audit_read_linux.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/admin/audit.h"
#include "cli/session.h"

struct verification {
    struct audit_head at;     /* the last line that was read */
    struct audit_head wanted; /* a line that must be there; number 0: none */
    bool has_wanted;          /* it was found */
    struct audit_head before; /* the line before the first; number 0: the chain begins here */
    char *first;              /* the first line, until its predecessor is known */
    bool is_first_known;
};

static struct err *head_parse(struct cli *c, const char *text, struct audit_head *ret)
{
    struct str rest = str_of(text);
    struct str number = str_cut(&rest, ':');
    struct audit_head head = {0};
    AUTO(err_freep) struct err *e = num_parse_int64(number, 1, INT64_MAX, &head.number);

    if (e || !rest.at || rest.size != AUDIT_HASH_SIZE - 1)
        return cli_usage(c, "--head \"%s\": want NUMBER:HASH", text);
    memcpy(head.hash, rest.at, rest.size);
    *ret = head;
    return NULL;
}

static struct err *head_ask(struct cli *c, struct audit_head *ret)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *answer = NULL;
    const char *hash;

    TRY(session_open(c, &s));
    TRY(session_get(s, "/mete.dev/v1/audit/head", &answer));
    hash = json_text(answer, "hash");
    if (!hash || strlen(hash) != AUDIT_HASH_SIZE - 1)
        return err_new(ERR_INVALID, "the server's answer names no line");
    ret->number = json_int(answer, "number", 0);
    memcpy(ret->hash, hash, AUDIT_HASH_SIZE);
    return NULL;
}

/* Checks the first line once a line of verb forget names the line before it. */
static struct err *verify_first(struct verification *v, struct str line)
{
    static const char verb[] = "\"verb\":\"forget\"";
    AUTO(json_freep) json_t *tree = NULL;
    struct audit_head head = v->before;
    const char *hash;

    if (v->is_first_known || !memmem(line.at, line.size, verb, sizeof(verb) - 1))
        return NULL;
    TRY(json_parse(line, &tree));
    hash = json_text(tree, "throughHash");
    if (json_int(tree, "through", 0) != v->before.number || !hash ||
        strlen(hash) != AUDIT_HASH_SIZE - 1)
        return NULL;
    memcpy(head.hash, hash, AUDIT_HASH_SIZE);
    v->is_first_known = true;
    return audit_line_check(&head, str_of(v->first));
}

/* The hash of a first line other than line 1 is checked later: verify_first. */
static struct err *verify_begin(struct verification *v, struct str line)
{
    TRY(audit_line_read(line, &v->at));
    v->is_first_known = v->at.number == 1;
    v->before.number = v->at.number - 1;
    v->first = mem_strndup(line.at, line.size);
    if (!v->is_first_known)
        return NULL;
    v->at = audit_head_first();
    return audit_line_check(&v->at, line);
}

static struct err *verify_line(struct verification *v, struct str line)
{
    if (v->at.number == 0)
        TRY(verify_begin(v, line));
    else
        TRY(audit_line_check(&v->at, line));
    TRY(verify_first(v, line));
    if (v->at.number == v->wanted.number) {
        v->has_wanted = text_equal(v->at.hash, v->wanted.hash);
        if (!v->has_wanted)
            return err_new(ERR_INVALID, "the line is not the one that the server wrote");
    }
    return NULL;
}

static struct err *verify_files(struct verification *v, const char *dir)
{
    AUTO(audit_reader_freep) struct audit_reader *r = NULL;
    struct str line = {0};

    TRY(audit_reader_new(dir, NULL, &r));
    for (;;) {
        struct err *e = audit_reader_next(r, &line);

        if (!e && !line.at)
            return NULL;
        if (!e)
            e = verify_line(v, line);
        if (e && audit_reader_line(r) > 0)
            return err_wrap(e, "%s/%s line %" PRId64, dir, audit_reader_file(r),
                            audit_reader_line(r));
        if (e)
            return e;
    }
}

static struct err *verify_end(const struct verification *v, const char *dir)
{
    if (!v->is_first_known && v->at.number > 0)
        return err_new(ERR_INVALID,
                       "%s: lines 1 to %" PRId64 " are missing, and no later line says that the "
                       "server removed them",
                       dir, v->before.number);
    if (v->wanted.number > 0 && !v->has_wanted)
        return err_new(ERR_INVALID,
                       "%s: the files end at line %" PRId64 ", and line %" PRId64 " is missing",
                       dir, v->at.number, v->wanted.number);
    return NULL;
}

static struct err *verify_head(struct cli *c, struct audit_head *ret)
{
    const char *given = flag_text(c->in, "head");
    AUTO(err_freep) struct err *e = NULL;

    if (given)
        return head_parse(c, given, ret);
    if (flag_text(c->in, "dir"))
        return NULL; /* a copy: the server's lines may be newer */
    e = head_ask(c, ret);
    if (e && err_code(e) != ERR_UNAVAILABLE)
        return TAKE(e);
    return NULL;
}

struct err *audit_verify(struct cli *c)
{
    struct verification v = {0};
    const char *given = flag_text(c->in, "dir");
    const char *data = flag_text(c->in, "data");
    const char *variable = getenv("METE_DATA"); /* NOLINT(concurrency-mt-unsafe): one thread */
    AUTO_FREE char *dir = given ? mem_strdup(given) : NULL;
    struct err *e;

    if (!dir)
        dir = mem_format("%s/server/audit", data ? data : variable ? variable : "/var/lib/mete");
    TRY(verify_head(c, &v.wanted));
    e = verify_files(&v, dir);
    if (!e)
        e = verify_end(&v, dir);
    free(v.first);
    if (e)
        return e;
    if (v.wanted.number == 0)
        cli_say(c, "the last lines are not checked: %s",
                given ? "give --head to check them" : "the server does not answer");
    (void)fprintf(c->out, "%" PRId64 " lines, whole to line %" PRId64 ":%s\n",
                  v.at.number - v.before.number, v.at.number, v.at.hash);
    return NULL;
}
