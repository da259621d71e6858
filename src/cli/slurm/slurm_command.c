/* slurm_command.c - what the commands with Slurm's names share */

#include "cli/slurm/slurm_command.h"

#include <pwd.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/term/output.h"
#include "cli/term/text_escape.h"
#include "kinds/slurm/slurm_rows.h"

enum {
    USER_TEXT_MAX = 16384,
    BITSTR_SIZE_MAX = 4096, /* the largest SLURM_BITSTR_LEN but 0 */
    MESSAGE_MAX = 2000      /* bytes of a line: messages repeat the user's words */
};

const char *slurm_variable(const char *name)
{
    return getenv(name); /* NOLINT(concurrency-mt-unsafe): one thread */
}

int64_t slurm_local_zone(int64_t utc_ns)
{
    time_t seconds = (time_t)(utc_ns / NS_PER_SEC);
    struct tm local = {0};

    return localtime_r(&seconds, &local) ? local.tm_gmtoff * NS_PER_SEC : 0;
}

char *slurm_user_name(void)
{
    struct passwd entry;
    struct passwd *found = NULL;
    AUTO_FREE char *texts = mem_alloc(USER_TEXT_MAX);

    if (getpwuid_r(geteuid(), &entry, texts, USER_TEXT_MAX, &found) == 0 && found)
        return mem_strdup(found->pw_name);
    return mem_format("uid:%u", (unsigned)geteuid());
}

/* SLURM_BITSTR_LEN: 4096 at most, 0 for all, the default where it is negative. */
static size_t bitstr_size(void)
{
    const char *text = getenv("SLURM_BITSTR_LEN"); /* NOLINT(concurrency-mt-unsafe): one thread */
    int64_t n = 0;

    if (!text)
        return 0;
    err_free(num_parse_int64(str_of(text), INT64_MIN, INT64_MAX, &n)); /* malformed: 0, as Slurm */
    if (n == 0)
        return SIZE_MAX;
    return n < 0 ? 0 : (size_t)(n < BITSTR_SIZE_MAX ? n : BITSTR_SIZE_MAX);
}

bool slurm_command_begin(struct slurm_command *s, struct cli *c, const struct slurm_option *options,
                         bool stops)
{
    AUTO(err_freep) struct err *e = NULL;

    s->cli = c;
    s->name = c->in->command->name;
    s->view = (struct slurm_view){
        .now_s = (int64_t)time(NULL), .zone = slurm_local_zone, .indexes_size = bitstr_size()};
    e = slurm_words_parse(options, stops, c->in->arguments.n, c->in->arguments.at, &s->words);
    if (!e)
        return true;
    (void)fprintf(c->err, "%s: %s\nTry \"%s --help\" for more information\n", s->name,
                  err_message(e), s->name);
    c->exit_code = s->usage_code ? s->usage_code : 1;
    return false;
}

void slurm_command_done(struct slurm_command *s)
{
    slurm_words_done(&s->words);
    session_free(s->session);
    s->session = NULL;
}

static void slurm_print_lines(struct slurm_command *s, const char *text)
{
    struct str rest = str_of(text);

    while (rest.at) {
        struct str line = str_cut(&rest, '\n');
        AUTO_FREE char *clean = text_escape(line, TEXT_ESCAPE_LINE);

        if (line.size > 0)
            (void)fprintf(s->cli->err, "%s: error: %.*s\n", s->name, MESSAGE_MAX, clean);
    }
}

struct err *slurm_fail(struct slurm_command *s, int code, struct err *e)
{
    slurm_print_lines(s, err_message(e));
    s->cli->exit_code = code;
    err_free(e);
    return NULL;
}

void slurm_say(struct slurm_command *s, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    slurm_print_lines(s, text);
    s->cli->exit_code = 1;
}

struct err *slurm_command_open(struct slurm_command *s)
{
    return s->session ? NULL : session_open(s->cli, &s->session);
}

struct err *slurm_call(struct slurm_command *s, const struct call *call, json_t **ret)
{
    struct err *e;

    TRY(slurm_command_open(s));
    e = session_call(s->session, call, ret);
    if (e && err_code(e) == ERR_UNAVAILABLE) {
        struct err *said =
            err_new(ERR_UNAVAILABLE, "Unable to contact slurm controller (connect failure)\n(%s)",
                    err_message(e));

        err_free(e);
        return said;
    }
    return e;
}

static bool is_plain(struct str text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.at[i] < 0x20 || text.at[i] > 0x7e) /* bytes from 0x80 on are negative, or large */
            return false;
    return true;
}

void slurm_clean(json_t *tree)
{
    struct str text = {json_string_value(tree), json_string_length(tree)};
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_string(tree) && !is_plain(text)) {
        AUTO_FREE char *clean = text_escape(text, TEXT_ESCAPE_LINE);

        (void)json_string_set(tree, clean); /* clean text is UTF-8 */
    }
    json_object_foreach (tree, key, member)
        if (!text_equal(key, "script") && !text_equal(key, "environment"))
            slurm_clean(member);
    json_array_foreach (tree, i, member)
        slurm_clean(member);
}

struct err *slurm_rows(struct slurm_command *s, const char *path, const char *what, json_t **ret)
{
    AUTO(json_freep) json_t *answer = NULL;
    struct call call = {.path = path};
    json_t *rows;

    TRY(slurm_call(s, &call, &answer));
    rows = json_object_get(answer, what);
    if (!rows)
        return err_new(ERR_INTERNAL, "the server's answer has no \"%s\"", what);
    slurm_clean(rows);
    *ret = json_incref(rows);
    return NULL;
}

struct err *slurm_print_version(struct cli *c)
{
    return output_write(c, STR("slurm " SLURM_VERSION "\n"));
}
