/* image.c - mete image: the subcommands */

#include "cli/admin/image.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/term/output.h"
#include "model/image_name.h"

enum {
    ID_DIGITS = 12
};

/* ---- the node ---- */

static struct err *only_node(struct cli *c, struct session *s, char **ret)
{
    AUTO(json_freep) json_t *nodes = NULL;
    const json_t *items;
    const char *name;

    TRY(session_get(s, "/api/v1/nodes", &nodes));
    items = json_object_get(nodes, "items");
    name = json_text_at(json_array_get(items, 0), "metadata", "name", NULL);
    if (json_array_size(items) != 1 || !name) {
        cli_try(c, "mete nodes   lists the nodes");
        return err_new(ERR_BAD_REQUEST, "there are %zu nodes: choose one with --node",
                       json_array_size(items));
    }
    *ret = mem_strdup(name);
    return NULL;
}

/* "/mete.dev/v1/nodes/NODE/images" and `rest`. NODE is --node, else the only node. */
static struct err *image_path(struct cli *c, struct session *s, const char *rest, char **ret)
{
    const char *given = flag_text(c->in, "node");
    AUTO_FREE char *node = given ? mem_strdup(given) : NULL;
    struct buf path = {0};

    if (!node)
        TRY(only_node(c, s, &node));
    buf_add_text(&path, "/mete.dev/v1/nodes/");
    client_add_escaped(&path, str_of(node));
    buf_printf(&path, "/images%s", rest);
    *ret = buf_steal(&path);
    return NULL;
}

static struct err *path_of_name(struct cli *c, struct session *s, const char *rest,
                                const char *name, char **ret)
{
    struct buf path = {0};
    AUTO_FREE char *base = NULL;

    TRY(image_path(c, s, rest, &base));
    buf_add_text(&path, base);
    if (name) {
        buf_add_text(&path, "?name=");
        client_add_escaped(&path, str_of(name));
    }
    *ret = buf_steal(&path);
    return NULL;
}

/* ---- ls ---- */

static const char *short_id(const char *id)
{
    const char *colon = id ? strchr(id, ':') : NULL;

    return colon ? colon + 1 : "";
}

static json_t *image_age(const char *stamp, int64_t now_ns)
{
    int64_t at_ns = stamp_or(stamp, INT64_MAX);
    char text[STAMP_TEXT_SIZE];

    if (now_ns < at_ns)
        return json_null();
    stamp_format_age(now_ns - at_ns, text);
    return json_string(text);
}

static void image_add_row(struct listing *l, const json_t *image, const char *name, int64_t now_ns)
{
    AUTO_FREE char *id = mem_strndup(short_id(json_text(image, "id")), ID_DIGITS);
    AUTO(json_freep) json_t *object = json_deep_copy(image);
    json_t *row = json_array();
    int64_t size = json_int(image, "sizeBytes", -1);

    json_put_text(object, "name", name);
    (void)json_object_del(object, "names");
    (void)json_array_append_new(row, json_text_new(name));
    (void)json_array_append_new(row, json_string(id));
    (void)json_array_append_new(row, size >= 0 ? json_integer(size) : json_null());
    (void)json_array_append_new(row, json_integer(json_int(image, "pods", 0)));
    (void)json_array_append_new(row, image_age(json_text(image, "usedAt"), now_ns));
    listing_add(l, row, object);
}

/* Adds one row for each name; an image without a name is shown by its digest. */
static void add_rows(struct listing *l, const json_t *image, int64_t now_ns)
{
    const json_t *names = json_object_get(image, "names");
    const json_t *item = NULL;
    size_t n = 0;
    size_t i = 0;

    json_array_foreach (names, i, item) {
        if (strchr(json_string_value(item), '@'))
            continue;
        image_add_row(l, image, json_string_value(item), now_ns);
        n++;
    }
    if (n == 0)
        image_add_row(l, image, json_string_value(json_array_get(names, 0)), now_ns);
}

static struct err *image_list(struct cli *c, struct session *s)
{
    static const char *const names[] = {"IMAGE", "ID", "%SIZE", "#PODS", "#LAST USED"};
    AUTO_FREE char *path = NULL;
    AUTO(json_freep) json_t *answer = NULL;
    struct listing l;
    struct err *e;
    json_t *image;
    size_t i;

    TRY(image_path(c, s, "", &path));
    TRY(session_get(s, path, &answer));
    listing_init(&l, "ImageList");
    l.api_version = "mete.dev/v1";
    for (i = 0; i < COUNT(names); i++)
        listing_column(&l, names[i]);
    json_array_foreach (json_object_get(answer, "images"), i, image)
        add_rows(&l, image, loop_wall_ns(session_loop(s)));
    e = listing_print(c, &l);
    listing_done(&l);
    return e;
}

/* ---- changes ---- */

/* Prints the full form of the given name, else the last name that the archive contained. */
static struct err *say_image(struct cli *c, const char *given, const json_t *answer)
{
    const json_t *names = json_object_get(answer, "names");
    const char *name = json_string_value(json_array_get(names, json_array_size(names) - 1));
    struct image_name parsed = {0};
    char whole[IMAGE_NAME_SIZE];
    AUTO_FREE char *line = NULL;

    if (given) {
        TRY(image_name_parse(given, &parsed));
        image_name_format(&parsed, whole);
        name = whole;
    }
    line = mem_format("%s\n", name ? name : json_text(answer, "id"));

    return output_write(c, str_of(line));
}

static struct err *image_import_files(struct cli *c, struct session *s)
{
    const char *file = c->in->arguments.at[1];
    const char *name = c->in->arguments.n > 2 ? c->in->arguments.at[2] : NULL;
    AUTO_FREE char *path = NULL;
    AUTO(json_freep) json_t *answer = NULL;
    struct err *e;

    TRY(path_of_name(c, s, "/import", name, &path));
    e = image_send(c, s, path, file, &answer);
    if (e) {
        if (!name && strstr(err_message(e), "give a name"))
            cli_try(c, "mete image import %s NAME:TAG", file);
        return err_wrap(e, "import %s", file);
    }
    return say_image(c, name, answer);
}

static struct err *image_pull_names(struct cli *c, struct session *s)
{
    AUTO_FREE char *path = NULL;
    AUTO(json_freep) json_t *answer = NULL;
    const char *name = c->in->arguments.at[1];

    TRY(path_of_name(c, s, "/pull", name, &path));
    TRY(image_ask(c, s, path, name, &answer));
    return say_image(c, name, answer);
}

static struct err *remove_images(struct cli *c, struct session *s)
{
    for (size_t i = 1; i < c->in->arguments.n; i++) {
        AUTO_FREE char *path = NULL;
        struct call call = {.method = "DELETE"};

        TRY(path_of_name(c, s, "", c->in->arguments.at[i], &path));
        call.path = path;
        TRY(session_call(s, &call, NULL));
        cli_say(c, "image %s removed", c->in->arguments.at[i]);
    }
    return NULL;
}

static struct err *image_collect(struct cli *c, struct session *s)
{
    AUTO_FREE char *path = NULL;
    AUTO(json_freep) json_t *answer = NULL;
    char size[SIZE_TEXT_SIZE];

    TRY(image_path(c, s, flag_switch(c->in, "all") ? "/gc?all=true" : "/gc", &path));
    TRY(image_ask(c, s, path, "image gc", &answer));
    size_format(json_int(answer, "freedBytes", 0), size);
    cli_say(c, "%" PRId64 " images removed, %s freed", json_int(answer, "removed", 0), size);
    return NULL;
}

/* ---- the subcommands ---- */

struct image_word {
    const char *name;
    size_t n_min; /* includes the subcommand itself */
    size_t n_max;
    const char *wants;
    struct err *(*run)(struct cli *c, struct session *s);
};

static const struct image_word words[] = {
    {"import", 2, 3, "FILE|DIR [NAME]", image_import_files},
    {"pull", 2, 2, "NAME", image_pull_names},
    {"ls", 1, 1, "no arguments", image_list},
    {"rm", 2, SIZE_MAX, "NAME...", remove_images},
    {"gc", 1, 1, "no arguments", image_collect},
};

static struct err *image_run(struct cli *c)
{
    const size_t n = c->in->arguments.n;
    const char *name = c->in->arguments.at[0];
    AUTO(session_freep) struct session *s = NULL;
    struct err *e = NULL;

    for (size_t i = 0; i < COUNT(words); i++) {
        if (!text_equal(words[i].name, name))
            continue;
        if (n < words[i].n_min || n > words[i].n_max)
            return cli_usage(c, "image %s needs %s", name, words[i].wants);
        TRY(session_open(c, &s));
        e = words[i].run(c, s);
        if (e && err_code(e) == ERR_NOT_FOUND && !flag_text(c->in, "node") &&
            words[i].run == remove_images)
            cli_try(c, "mete image ls   lists the images");
        return e;
    }
    return cli_usage(c, "image has no \"%s\": want import, pull, ls, rm or gc", name);
}

static const struct flag image_flags[] = {
    {.name = "node",
     .type = FLAG_TEXT,
     .value = "NODE",
     .doc = "node that has the images. Required if there are several nodes"},
    {.name = "all",
     .type = FLAG_SWITCH,
     .doc = "gc: remove also images with a name, if no pod uses them"},
    {0},
};

static const char *const image_words[] = {"import", "pull", "ls", "rm", "gc", NULL};

const struct command command_image = {
    .name = "image",
    .arguments = "import FILE|DIR [NAME] | pull NAME | ls | rm NAME... | gc",
    .summary = "import, pull, list and remove the container images of a node",
    .doc =
        "import reads an OCI layout (a directory or its tar), or an archive of docker save or "
        "skopeo; -: standard input.\npull fetches an image from a registry. rm removes a name, and "
        "with the last name the image. gc removes images that\nhave no name and that no pod uses.",
    .examples = {{"image import busybox.tar", "imports an archive of docker save"},
                 {"image import ./layout team/train:2",
                  "imports an OCI layout and names the image"},
                 {"image pull python:3.12", "pulls an image from a registry"},
                 {0}},
    .flags = image_flags,
    .takes = TAKES_FILES,
    .words = image_words,
    .groups = FLAGS_SERVER | FLAGS_OUTPUT,
    .n_min = 1,
    .n_max = SIZE_MAX,
    .run = image_run,
};
