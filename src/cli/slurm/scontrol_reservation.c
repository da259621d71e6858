/* scontrol_reservation.c - scontrol create, update, delete and show of reservations */

#include <strings.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cli/slurm/scontrol.h"
#include "cli/term/output.h"
#include "kinds/slurm/slurm_rows.h"
#include "slurm/cluster_json.h"
#include "slurm/reservation.h"

#define RESERVATIONS_PATH "/apis/mete.dev/v1/reservations"

enum {
    NAME_TRIES = 1000
};

/* The words of a command. Texts are owned or borrowed. */
struct reservation_words {
    bool is_named;    /* a reservation is the subject */
    const char *name; /* NULL: to be made */
    VEC(struct slurm_update) updates;
    VEC(char *) keys;
};

static void reservation_words_done(struct reservation_words *w)
{
    VEC_EACH (&w->keys, key)
        free(*key);
    vec_done(&w->keys);
    vec_done(&w->updates);
}

/* "reservation", "ReservationName=x", "res=x" */
static bool is_entity(const char *key)
{
    return strlen(key) >= 3 && strncasecmp(key, "ReservationName", strlen(key)) == 0;
}

static void reservation_words_read(size_t n, const char *const *words,
                                   struct reservation_words *ret)
{
    for (size_t i = 0; i < n; i++) {
        const char *equals = strchr(words[i], '=');
        size_t size = equals ? (size_t)(equals - words[i]) : strlen(words[i]);
        char *key = mem_strndup(words[i], size);

        vec_add(&ret->keys, key);
        if (is_entity(key)) {
            ret->is_named = true;
            ret->name = equals && equals[1] ? equals + 1 : ret->name;
        } else {
            vec_add(&ret->updates, (struct slurm_update){key, equals ? equals + 1 : ""});
        }
    }
}

/* Is the first word a reservation? A job's reservation is a later word. */
bool scontrol_names_reservation(size_t n, const char *const *words)
{
    struct reservation_words w = {0};
    bool is_named;

    reservation_words_read(n > 0 ? 1 : 0, words, &w);
    is_named = w.is_named;
    reservation_words_done(&w);
    return is_named;
}

static struct err *reservation_list(struct scontrol *x, json_t **ret)
{
    AUTO(json_freep) json_t *list = NULL;
    const struct call get = {.path = RESERVATIONS_PATH};

    TRY(slurm_call(&x->s, &get, &list));
    *ret = json_incref(json_object_get(list, "items"));
    return NULL;
}

static const json_t *find_named(const json_t *list, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach (list, i, item)
        if (text_equal(json_text_at(item, "metadata", "name", NULL), name))
            return item;
    return NULL;
}

/* "ann-1": the first user or account, and the first number that is free. */
static char *make_name(const json_t *list, const json_t *spec)
{
    const json_t *users = json_object_get(spec, "users");
    const json_t *queues = json_object_get(spec, "queues");
    const char *of = json_string_value(json_array_get(users, 0));

    of = of ? of : json_string_value(json_array_get(queues, 0));
    for (int i = 1; i < NAME_TRIES; i++) {
        AUTO_FREE char *name = mem_format("%s-%d", of ? of : "maint", i);

        if (!find_named(list, name))
            return TAKE(name);
    }
    return mem_strdup("");
}

/* Nodes=ALL are the present nodes. */
static struct err *fill_nodes(struct scontrol *x, json_t *spec)
{
    const json_t *nodes = json_object_get(spec, "nodes");
    AUTO(json_freep) json_t *rows = NULL;
    json_t *all;
    const json_t *row;
    size_t i;

    if (json_array_size(nodes) != 1 ||
        strcasecmp(text_or_empty(json_string_value(json_array_get(nodes, 0))), "ALL") != 0)
        return NULL;
    TRY(slurm_rows(&x->s, SLURM_REPORT_PATH "?what=nodes", "nodes", &rows));
    all = json_array();
    json_array_foreach (rows, i, row)
        (void)json_array_append(all, json_object_get(row, "name"));
    json_put(spec, "nodes", all);
    return NULL;
}

static struct err *reservation_create(struct scontrol *x, const struct reservation_words *w)
{
    AUTO(json_freep) json_t *list = NULL;
    AUTO(json_freep) json_t *body = json_object();
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *line = NULL;
    json_t *spec = NULL;
    const struct call call = {.method = "POST", .path = RESERVATIONS_PATH, .body = body};

    TRY(slurm_reservation_spec(NULL, w->updates.at, w->updates.n, &x->s.view, &spec));
    json_put(body, "spec", spec);
    TRY(fill_nodes(x, spec));
    TRY(reservation_list(x, &list));
    name = w->name ? mem_strdup(w->name) : make_name(list, spec);
    json_put_text(json_object_at(body, "metadata"), "name", name);
    TRY(slurm_call(&x->s, &call, NULL));
    line = mem_format("Reservation created: %s\n", name);
    return output_write(x->s.cli, str_of(line));
}

static struct err *reservation_update(struct scontrol *x, const struct reservation_words *w)
{
    AUTO(json_freep) json_t *list = NULL;
    AUTO(json_freep) json_t *body = NULL;
    AUTO_FREE char *path = path_format(RESERVATIONS_PATH "/%s", text_or_empty(w->name));
    struct call call = {.method = "PUT", .path = path};
    json_t *spec = NULL;

    TRY(reservation_list(x, &list));
    body = json_deep_copy(find_named(list, text_or_empty(w->name)));
    if (!body)
        return err_new(ERR_INVALID, "Requested reservation is invalid");
    TRY(slurm_reservation_spec(json_object_get(body, "spec"), w->updates.at, w->updates.n,
                               &x->s.view, &spec));
    json_put(body, "spec", spec);
    TRY(fill_nodes(x, spec));
    call.body = body;
    return slurm_call(&x->s, &call, NULL);
}

static struct err *reservation_delete(struct scontrol *x, const struct reservation_words *w)
{
    AUTO_FREE char *path = path_format(RESERVATIONS_PATH "/%s", text_or_empty(w->name));
    const struct call call = {.method = "DELETE", .path = path};
    struct err *e = slurm_call(&x->s, &call, NULL);

    if (!e || err_code(e) != ERR_NOT_FOUND)
        return e;
    err_free(e);
    return err_new(ERR_INVALID, "Requested reservation is invalid");
}

struct err *scontrol_change_reservation(struct scontrol *x, const char *verb, size_t n,
                                        const char *const *words)
{
    struct reservation_words w = {0};
    struct err *e;

    reservation_words_read(n, words, &w);
    if (text_equal(verb, "create"))
        e = reservation_create(x, &w);
    else if (text_equal(verb, "update"))
        e = reservation_update(x, &w);
    else
        e = reservation_delete(x, &w);
    reservation_words_done(&w);
    return e && text_equal(verb, "create") ? err_wrap(e, "Error creating the reservation") : e;
}

struct err *scontrol_show_reservations(struct scontrol *x, const char *name)
{
    const struct slurm_show show = {&x->s.view, x->is_one_line, x->is_detailed};
    AUTO(json_freep) json_t *list = NULL;
    AUTO(json_freep) json_t *chosen = json_array();
    AUTO(buf_done) struct buf out = {0};
    json_t *item;
    size_t i;

    TRY(reservation_list(x, &list));
    if (name && !find_named(list, name))
        return err_new(ERR_NOT_FOUND, "Reservation %s not found", name);
    json_array_foreach (list, i, item)
        if (!name || text_equal(name, json_text_at(item, "metadata", "name", NULL)))
            (void)json_array_append(chosen, item);
    if (scontrol_wants_document(x))
        return scontrol_print_document(
            x, slurm_cluster_document("reservations", slurm_reservations_json(chosen, &x->s.view),
                                      &x->s.view));
    json_array_foreach (chosen, i, item)
        slurm_show_reservation(&show, item, &out);
    if (json_array_size(list) == 0)
        buf_add_text(&out, "No reservations in the system\n");
    return output_write(x->s.cli, (struct str){out.at, out.size});
}
