/* image_pull.c - the steps of a pull that run skopeo */

#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/kind/value.h"
#include "node/image/image_job.h"
#include "node/image/sha256_linux.h"

static const int64_t INSPECT_DEADLINE_NS = 120 * NS_PER_SEC;
static const int64_t FETCH_DEADLINE_NS = INT64_C(4) * 3600 * NS_PER_SEC;

enum {
    ARGUMENTS_MAX = 16
};

/* ---- credentials and messages ---- */

char *pull_auth_format(const struct image_name *name, const char *username, const char *password)
{
    AUTO(json_freep) json_t *auth = json_object();
    AUTO_FREE char *pair = mem_format("%s:%s", username, password);
    AUTO_FREE char *encoded = NULL;
    char registry[IMAGE_REPOSITORY_SIZE];
    struct buf b = {0};

    image_name_registry(name, registry);
    base64_encode(str_of(pair), &b);
    encoded = buf_steal(&b);
    json_put_text(json_object_at(json_object_at(auth, "auths"), registry), "auth", encoded);
    return json_format(auth);
}

/* The message of skopeo's last log line: time="..." level=fatal msg="...". */
static char *last_message(struct str errors)
{
    struct str rest = errors;
    struct str last = {0};
    struct buf text = {.cap = 2048};
    const struct str prefix = STR("Error parsing image name"); /* precedes most errors */
    const char *cut = NULL;
    const char *msg;

    while (rest.at && rest.size > 0) {
        struct str line = str_cut(&rest, '\n');

        if (line.size > 0)
            last = line;
    }
    msg = last.at ? memmem(last.at, last.size, "msg=\"", 5) : NULL;
    if (msg)
        last = (struct str){msg + 5, (size_t)(last.at + last.size - msg) - 5};
    if (msg && str_starts_with(last, prefix))
        cut = memmem(last.at, last.size, "\\\": ", 4);
    if (cut)
        last = (struct str){cut + 4, (size_t)(last.at + last.size - cut) - 4};
    for (size_t i = 0; i < last.size && text.size < 1500; i++) {
        if (last.at[i] == '\\' && i + 1 < last.size)
            i++;
        else if (msg && last.at[i] == '"')
            break;
        buf_add_utf8(&text, (struct str){&last.at[i], 1});
    }
    return buf_steal(&text);
}

static bool skopeo_says(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(text, *words))
            return true;
    return false;
}

struct err *pull_error(const char *name, const struct image_child_end *end)
{
    static const char *const denied[] = {"unauthorized", "authentication required", "denied",
                                         "invalid username/password", NULL};
    static const char *const missing[] = {"manifest unknown", "name unknown", "not found",
                                          "was deleted", NULL};
    AUTO_FREE char *text = last_message(end->errors);
    enum err_code code = skopeo_says(text, denied)    ? ERR_FORBIDDEN
                         : skopeo_says(text, missing) ? ERR_NOT_FOUND
                                                      : ERR_UNAVAILABLE;

    if (end->timed_out)
        return err_new(ERR_TIMEOUT, "pull %s: the registry took too long", name);
    return err_new(code, "pull %s: %s", name, *text ? text : "skopeo failed and does not say why");
}

/* ---- steps of a pull ---- */

struct skopeo {
    struct image_child_options child;
    const char *const *words; /* NULL-terminated */
};

static void skopeo_start(struct image_job *j, const struct skopeo *s)
{
    AUTO_FREE char *dir = mem_format("%s/in", j->dir);
    const char *argv[ARGUMENTS_MAX] = {j->images->self_path, "image-fetch", dir};
    struct image_child_options o = s->child;
    size_t n = 3;
    struct err *e;

    if (j->work.has_registries) {
        argv[n++] = "--registries-conf";
        argv[n++] = "/tmp/registries.conf";
    }
    for (size_t i = 0; s->words[i]; i++)
        argv[n++] = s->words[i];
    o.loop = j->images->o.loop;
    o.argv = argv;
    o.arg = j;
    e = image_child_new(&o, &j->child);
    if (e) {
        job_fail(j, e);
        return;
    }
    image_child_close(j->child); /* no input */
}

static void on_fetch_line(void *arg, struct str line)
{
    struct image_job *j = arg;
    AUTO_FREE char *text = NULL;

    if (!str_starts_with(line, STR("Copying blob")))
        return;
    text = mem_format("fetching layer %u", ++j->n_fetched);
    job_progress(j, text);
}

static void image_pull_on_fetched(void *arg, const struct image_child_end *end)
{
    struct image_job *j = arg;
    struct err *e = end->status == 0 ? NULL : pull_error(j->given, end);

    image_child_free(TAKE(j->child));
    if (e)
        job_fail(j, e);
    else
        job_unpack(j);
}

/* Fetches by the inspected digest, even if the tag has moved since. */
static void skopeo_copy(struct image_job *j)
{
    AUTO_FREE char *source = mem_format("docker://%s@%s", j->name.repository, j->digest);
    const char *const words[] = {"copy",
                                 j->auth ? "--src-authfile" : "--src-no-creds",
                                 j->auth ? "/tmp/auth.json" : source,
                                 j->auth ? source : "dir:/tmp/image",
                                 j->auth ? "dir:/tmp/image" : NULL,
                                 NULL};
    const struct skopeo s = {.child = {.deadline_ns = FETCH_DEADLINE_NS,
                                       .line = on_fetch_line,
                                       .end = image_pull_on_fetched},
                             .words = words};

    skopeo_start(j, &s);
}

/* The image is present already: adds the name, which may be new. */
static struct err *make_tag(void *arg, json_t *index, struct image_commit *c)
{
    const struct image_job *j = arg;
    char name[IMAGE_NAME_SIZE];

    (void)c;
    if (!json_object_get(json_object_get(index, "images"), j->id))
        return err_new(ERR_UNAVAILABLE, "image %s was removed meanwhile", j->id);
    image_name_format(&j->name, name);
    image_index_tag(index, j->id, name);
    return NULL;
}

static void on_tagged(void *arg, const struct err *e)
{
    struct image_job *j = arg;

    j->is_committing = false;
    if (e)
        job_fail(j, err_new(err_code(e), "%s", err_message(e)));
    else
        job_succeed(j);
}

static void look_up(struct image_job *j)
{
    AUTO_FREE char *name = mem_format("%s@%s", j->name.repository, j->digest);
    const char *id = image_index_find(j->images->index, name);
    struct image_commit *c;

    if (!id) {
        job_progress(j, "fetching");
        skopeo_copy(j);
        return;
    }
    (void)snprintf(j->id, sizeof(j->id), "%s", id);
    c = mem_alloc(sizeof(*c));
    *c = (struct image_commit){.make = make_tag, .done = on_tagged, .arg = j};
    j->is_committing = true;
    images_commit(j->images, c);
}

static void on_inspected(void *arg, const struct image_child_end *end)
{
    struct image_job *j = arg;
    AUTO(sha256_freep) struct sha256 *s = sha256_new();
    struct err *e = end->status == 0 ? NULL : pull_error(j->given, end);

    if (!e && end->output.size >= IMAGE_OUTPUT_MAX)
        e = err_new(ERR_INVALID, "pull %s: its manifest is larger than %d bytes", j->given,
                    IMAGE_OUTPUT_MAX);
    sha256_add(s, end->output.at, end->output.size);
    sha256_end(s, j->digest);
    if (!e && j->name.digest[0] && !text_equal(j->name.digest, j->digest))
        e = err_new(ERR_INVALID, "pull %s: the registry's manifest has digest %s", j->given,
                    j->digest);
    image_child_free(TAKE(j->child));
    if (e)
        job_fail(j, e);
    else
        look_up(j);
}

void job_inspect(struct image_job *j)
{
    char name[IMAGE_NAME_SIZE];
    AUTO_FREE char *source = NULL;
    const char *const auth[] = {"inspect", "--raw", "--authfile", "/tmp/auth.json", NULL, NULL};
    const char *const open[] = {"inspect", "--raw", "--no-creds", NULL, NULL};
    const char *words[6];
    const char *const *from = j->auth ? auth : open;
    size_t n = 0;
    const struct skopeo s = {.child = {.deadline_ns = INSPECT_DEADLINE_NS, .end = on_inspected},
                             .words = words};

    image_name_format(&j->name, name);
    source = mem_format("docker://%s", name);
    while (from[n]) {
        words[n] = from[n];
        n++;
    }
    words[n++] = source;
    words[n] = NULL;
    job_progress(j, "asking the registry");
    skopeo_start(j, &s);
}
