/* test_node_images.c - tests of image pulls of pods: policies, reasons, Events and back-off as in
 * the kubelet */

#include <assert.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "node/image/root.h"
#include "node_world.h"
#include "test.h"

#define ID "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* One image, present or not, and one pull at a time, answered by the test. */
struct fake_images {
    struct image_source source;
    struct image image;
    json_t *names;
    bool is_there;
    struct image_pull pull; /* .done NULL: no pull under way */
    char name[256];
    char username[64];
    unsigned n_pulls;
    unsigned n_forgotten;
    unsigned n_users;
};

static const struct image *find(void *arg, const char *name)
{
    struct fake_images *f = arg;

    (void)name;
    return f->is_there ? &f->image : NULL;
}

static char *lower_dirs(void *arg, const char *id)
{
    (void)arg;
    (void)id;
    return mem_strdup("00000001");
}

static const char *layer_dir(void *arg)
{
    (void)arg;
    return "/layers";
}

static void *pull(void *arg, const struct image_pull *p)
{
    struct fake_images *f = arg;

    assert_null(f->pull.done);
    f->pull = *p;
    (void)snprintf(f->name, sizeof(f->name), "%s", p->name);
    (void)snprintf(f->username, sizeof(f->username), "%s", p->username ? p->username : "");
    f->n_pulls++;
    return f;
}

static void forget(void *pulling)
{
    struct fake_images *f = pulling;

    f->pull = (struct image_pull){0};
    f->n_forgotten++;
}

static void use(void *arg, const char *id, const char *pod_uid)
{
    struct fake_images *f = arg;

    assert_string_equal(id, ID);
    assert_string_equal(pod_uid, "u1");
    f->n_users++;
}

static void unuse(void *arg, const char *pod_uid)
{
    struct fake_images *f = arg;

    (void)pod_uid;
    f->n_users = 0;
}

static void fake_init(struct fake_images *f)
{
    *f = (struct fake_images){.names = json_pack("[s,s]", "docker.io/t/a:1",
                                                 "docker.io/t/a@sha256:"
                                                 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
                                                 "bbbbbbbbbbbbbbb")};
    f->image = (struct image){.id = ID, .names = f->names, .size_bytes = 42, .user = ""};
    f->source = (struct image_source){.find = find,
                                      .lower_dirs = lower_dirs,
                                      .layer_dir = layer_dir,
                                      .pull = pull,
                                      .forget = forget,
                                      .use = use,
                                      .unuse = unuse,
                                      .arg = f};
}

static void answer(struct fake_images *f, struct node_world *w, const struct err *e)
{
    struct image_pull p = f->pull;

    assert(p.done);
    f->pull = (struct image_pull){0};
    f->is_there = f->is_there || !e;
    p.done(p.arg, e, e ? NULL : ID);
    node_world_run(w);
}

static void answer_error(struct fake_images *f, struct node_world *w)
{
    AUTO(err_freep) struct err *e = err_new(ERR_NOT_FOUND, "manifest unknown");

    answer(f, w, e);
}

static struct err *make_root(struct root *r)
{
    r->found = (struct host_user){.uid = 0, .home = "/"};
    return NULL;
}

static void put(struct node_world *w, const char *image, const char *policy)
{
    AUTO_FREE char *spec = mem_format(
        "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"m\",\"image\":\"%s\","
        "\"imagePullPolicy\":\"%s\",\"command\":[\"true\"]}],\"imagePullSecrets\":[{\"name\":"
        "\"s\"}]}",
        image, policy);
    AUTO(json_freep) json_t *pod = node_world_pod(spec, "{}");

    node_world_put(w, pod);
    node_world_run(w);
}

static const json_t *status(struct node_world *w)
{
    return json_array_get(json_object_get(node_world_status(w), "containerStatuses"), 0);
}

static const char *reason(struct node_world *w)
{
    node_world_advance(w, 1100 * NS_PER_MS); /* no status is sent during the creation */
    return json_text_at(status(w), "state", "waiting", "reason", NULL);
}

static bool has_event(const struct node_world *w, const char *why, const char *message)
{
    for (size_t i = 0; i < w->requests.n; i++) {
        const json_t *body = w->requests.at[i].body;

        if (text_equal(json_text(body, "reason"), why) &&
            text_starts_with(json_text(body, "message"), message))
            return true;
    }
    return false;
}

static void done(struct node_world *w, struct fake_images *f)
{
    node_world_done(w);
    json_decref(f->names);
}

static void one_that_is_there_is_used_without_a_pull(void **state)
{
    struct fake_images f;
    struct node_world w;

    (void)state;
    fake_init(&f);
    f.is_there = true;
    node_world_init_images(&w, &f.source, make_root);
    put(&w, "t/a:1", "IfNotPresent");
    assert_int_equal(f.n_pulls, 0);
    assert_int_equal(w.containers.n, 1);
    assert_int_equal(f.n_users, 1);
    assert_string_equal(json_text(w.containers.at[0]->intent, "imageId"), ID);
    node_world_advance(&w, NS_PER_SEC);
    assert_true(has_event(&w, "Pulled", "Container image \"t/a:1\" already present on machine"));
    assert_true(text_starts_with(json_text(status(&w), "imageID"), "docker.io/t/a@sha256:bbbb"));
    done(&w, &f);
}

static void one_that_is_missing_is_pulled_with_the_pods_password(void **state)
{
    struct fake_images f;
    struct node_world w;

    (void)state;
    fake_init(&f);
    node_world_init_images(&w, &f.source, make_root);
    /* {"reg.io":{"auth":"dTpw"}} */
    json_put(w.objects, "secrets/s",
             json_pack("{s:{s:s}}", "data", ".dockercfg", "eyJyZWcuaW8iOnsiYXV0aCI6ImRUcHcifX0="));
    put(&w, "reg.io/a:1", "IfNotPresent");
    assert_string_equal(f.name, "reg.io/a:1");
    assert_string_equal(f.username, "u");
    assert_string_equal(reason(&w), "ContainerCreating");
    assert_true(has_event(&w, "Pulling", "Pulling image \"reg.io/a:1\""));
    answer(&f, &w, NULL);
    assert_int_equal(w.containers.n, 1);
    node_world_advance(&w, NS_PER_SEC);
    assert_true(has_event(&w, "Pulled", "Successfully pulled image \"reg.io/a:1\" in 1.1"));
    done(&w, &f);
}

static void always_asks_the_registry_also_for_what_is_there(void **state)
{
    struct fake_images f;
    struct node_world w;

    (void)state;
    fake_init(&f);
    f.is_there = true;
    node_world_init_images(&w, &f.source, make_root);
    put(&w, "t/a:1", "Always");
    assert_int_equal(f.n_pulls, 1);
    assert_int_equal(w.containers.n, 0);
    answer_error(&f, &w); /* the container does not run, as in Kubernetes */
    assert_int_equal(w.containers.n, 0);
    assert_string_equal(reason(&w), "ErrImagePull");
    done(&w, &f);
}

static void a_failure_is_shown_and_backed_off(void **state)
{
    static const int64_t waits_s[] = {10, 20, 40, 80, 160, 300, 300};
    struct fake_images f;
    struct node_world w;

    (void)state;
    fake_init(&f);
    node_world_init_images(&w, &f.source, make_root);
    put(&w, "t/a:1", "IfNotPresent");
    for (size_t i = 0; i < COUNT(waits_s); i++) {
        assert_int_equal(f.n_pulls, i + 1);
        answer_error(&f, &w);
        assert_string_equal(reason(&w), "ErrImagePull");
        node_world_advance(&w, 2 * NS_PER_SEC);
        assert_string_equal(json_text_at(status(&w), "state", "waiting", "reason", NULL),
                            "ImagePullBackOff");
        assert_true(text_starts_with(
            json_text_at(status(&w), "state", "waiting", "message", NULL),
            "Back-off pulling image \"t/a:1\": ErrImagePull: manifest unknown; next try at "));
        node_world_advance(&w, (waits_s[i] - 4) * NS_PER_SEC);
        assert_int_equal(f.n_pulls, i + 1);
        node_world_advance(&w, 2 * NS_PER_SEC);
    }
    assert_true(has_event(&w, "Failed", "Failed to pull image \"t/a:1\": manifest unknown"));
    assert_true(has_event(&w, "Failed", "Error: ErrImagePull"));
    assert_true(has_event(&w, "BackOff", "Back-off pulling image \"t/a:1\""));
    answer(&f, &w, NULL);
    assert_int_equal(w.containers.n, 1);
    done(&w, &f);
}

static void never_waits_until_somebody_brings_it(void **state)
{
    struct fake_images f;
    struct node_world w;

    (void)state;
    fake_init(&f);
    node_world_init_images(&w, &f.source, make_root);
    put(&w, "t/a:1", "Never");
    assert_string_equal(reason(&w), "ErrImageNeverPull");
    assert_string_equal(json_text_at(status(&w), "state", "waiting", "message", NULL),
                        "Container image \"t/a:1\" is not present with pull policy of Never");
    f.is_there = true;
    pods_images_changed(w.pods);
    node_world_run(&w);
    assert_int_equal(w.containers.n, 1);
    assert_int_equal(f.n_pulls, 0);
    done(&w, &f);
}

static void what_is_no_name_says_so(void **state)
{
    struct fake_images f;
    struct node_world w;

    (void)state;
    fake_init(&f);
    node_world_init_images(&w, &f.source, make_root);
    put(&w, "Not A Name", "Always");
    assert_string_equal(reason(&w), "InvalidImageName");
    assert_true(
        text_starts_with(json_text_at(status(&w), "state", "waiting", "message", NULL),
                         "Failed to apply default image tag \"Not A Name\": image name 'Not A "
                         "Name'"));
    node_world_advance(&w, 60 * NS_PER_SEC);
    assert_int_equal(f.n_pulls, 0);
    assert_int_equal(w.containers.n, 0);
    done(&w, &f);
}

static void a_pod_that_goes_lets_its_pull_and_its_image_go(void **state)
{
    struct fake_images f;
    struct node_world w;
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    fake_init(&f);
    node_world_init_images(&w, &f.source, make_root);
    put(&w, "t/a:1", "Always");
    pod = node_world_pod("{}", "{}");
    pods_removed(w.pods, pod);
    node_world_advance(&w, 10 * NS_PER_SEC);
    assert_int_equal(f.n_forgotten, 1);
    assert_int_equal(f.n_users, 0);
    done(&w, &f);
}

static void a_container_that_was_found_keeps_its_image(void **state)
{
    struct fake_images f;
    struct node_world w;

    (void)state;
    fake_init(&f);
    f.is_there = true;
    node_world_init_images(&w, &f.source, make_root);
    (void)node_world_found(&w,
                           "{\"uid\":\"u1\",\"namespace\":\"default\",\"pod\":\"p\",\"container\":"
                           "\"m\",\"attempt\":0,\"imageId\":\"" ID "\",\"imageRef\":\"ref\"}",
                           RUNTIME_RUNNING);
    node_world_adopt(&w);
    assert_int_equal(f.n_users, 1);
    put(&w, "t/a:1", "Always");
    assert_int_equal(f.n_pulls, 0);
    node_world_advance(&w, 2 * NS_PER_SEC);
    assert_string_equal(json_text(status(&w), "imageID"), "ref");
    done(&w, &f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_there_is_used_without_a_pull),
        cmocka_unit_test(one_that_is_missing_is_pulled_with_the_pods_password),
        cmocka_unit_test(always_asks_the_registry_also_for_what_is_there),
        cmocka_unit_test(a_failure_is_shown_and_backed_off),
        cmocka_unit_test(never_waits_until_somebody_brings_it),
        cmocka_unit_test(what_is_no_name_says_so),
        cmocka_unit_test(a_pod_that_goes_lets_its_pull_and_its_image_go),
        cmocka_unit_test(a_container_that_was_found_keeps_its_image),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
