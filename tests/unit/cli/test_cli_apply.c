/* test_cli_apply.c - manifests, and the patch that `mete apply` sends */

#include "base/mem.h"
#include "cli/object/manifests.h"
#include "cli/object/three_way.h"
#include "prop.h"
#include "test.h"

static json_t *parse(const char *text)
{
    json_t *tree = NULL;

    if (text)
        assert_null(json_parse(str_of(text), &tree));
    return tree;
}

#define POD(rest) "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," rest "}"

static void the_patch_says_what_changed_and_no_more(void **state)
{
    static const struct {
        const char *last, *live, *want;
        const char *patch;
    } cases[] = {
        /* nothing to do */
        {POD("\"metadata\":{\"name\":\"a\"}"), POD("\"metadata\":{\"name\":\"a\",\"uid\":\"1\"}"),
         POD("\"metadata\":{\"name\":\"a\"}"), "{}"},
        /* a changed label is set, an unwanted label of the last apply is removed, labels of others
           stay */
        {POD("\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"1\"}}"),
         POD("\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"1\",\"other\":\"x\"}}"),
         POD("\"metadata\":{\"labels\":{\"a\":\"2\"}}"),
         "{\"metadata\":{\"labels\":{\"a\":\"2\",\"b\":null}}}"},
        /* an unwanted member that is already gone is not in the patch */
        {POD("\"metadata\":{\"labels\":{\"b\":\"1\"}}"), POD("\"metadata\":{\"labels\":{}}"),
         POD("\"metadata\":{\"labels\":{}}"), "{}"},
        /* containers merge by name: defaults stay, the patch states the order */
        {POD("\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"x\"}]}"),
         POD("\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"x\",\"imagePullPolicy\":"
             "\"Always\"}]}"),
         POD("\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"y\"}]}"),
         "{\"spec\":{\"$setElementOrder/"
         "containers\":[{\"name\":\"a\"}],\"containers\":[{\"image\":\"y\",\"name\":\"a\"}]}}"},
        /* one container comes, another goes */
        {POD("\"spec\":{\"containers\":[{\"name\":\"a\"}]}"),
         POD("\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"injected\"}]}"),
         POD("\"spec\":{\"containers\":[{\"name\":\"b\"}]}"),
         "{\"spec\":{\"$setElementOrder/"
         "containers\":[{\"name\":\"b\"}],\"containers\":[{\"name\":\"b\"},{\"name\":\"a\",\"$"
         "patch\":"
         "\"delete\"}]}}"},
        /* plain lists are replaced */
        {POD("\"spec\":{\"containers\":[{\"name\":\"a\",\"command\":[\"x\"]}]}"),
         POD("\"spec\":{\"containers\":[{\"name\":\"a\",\"command\":[\"x\"]}]}"),
         POD("\"spec\":{\"containers\":[{\"name\":\"a\",\"command\":[\"x\",\"y\"]}]}"),
         "{\"spec\":{\"$setElementOrder/"
         "containers\":[{\"name\":\"a\"}],\"containers\":[{\"command\":[\"x\",\"y\"],\"name\":"
         "\"a\"}]}}"},
        /* sets change item by item */
        {POD("\"metadata\":{\"finalizers\":[\"a\",\"b\"]}"),
         POD("\"metadata\":{\"finalizers\":[\"a\",\"b\",\"other\"]}"),
         POD("\"metadata\":{\"finalizers\":[\"b\",\"c\"]}"),
         "{\"metadata\":{\"finalizers\":[\"c\"],\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}}"},
        /* items without their merge key replace the list */
        {NULL, POD("\"spec\":{\"containers\":[{\"name\":\"a\"}]}"),
         POD("\"spec\":{\"containers\":[{\"image\":\"x\"}]}"),
         "{\"spec\":{\"containers\":[{\"$patch\":\"replace\"},{\"image\":\"x\"}]}}"},
        /* never applied before: nothing is removed */
        {NULL, POD("\"metadata\":{\"labels\":{\"theirs\":\"1\"}}"),
         POD("\"metadata\":{\"labels\":{\"ours\":\"1\"}}"),
         "{\"metadata\":{\"labels\":{\"ours\":\"1\"}}}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *last = parse(cases[i].last);
        AUTO(json_freep) json_t *live = parse(cases[i].live);
        AUTO(json_freep) json_t *want = parse(cases[i].want);
        AUTO(json_freep) json_t *patch = three_way(kind_find("", "pods"), last, live, want);
        AUTO(json_freep) json_t *right = parse(cases[i].patch);
        AUTO_FREE char *text = json_format(patch);

        if (!json_equal(patch, right))
            fail_msg("case %zu: found %s, want %s", i, text, cases[i].patch);
    }
}

static const char *const label_keys[] = {"a", "b", "c", "d"};

static json_t *random_labels(struct prop *p)
{
    json_t *labels = json_object();

    for (size_t i = 0; i < COUNT(label_keys); i++)
        if (prop_chance(p, 50))
            json_put_text(labels, label_keys[i], prop_chance(p, 50) ? "1" : "2");
    return labels;
}

static json_t *random_containers(struct prop *p)
{
    json_t *list = json_array();

    for (size_t i = 0; i < COUNT(label_keys); i++) {
        json_t *container;

        if (!prop_chance(p, 60))
            continue;
        container =
            json_pack("{s:s, s:s}", "name", label_keys[i], "image", prop_chance(p, 50) ? "x" : "y");
        if (prop_chance(p, 50))
            json_put(container, "command", json_pack("[s]", prop_chance(p, 50) ? "run" : "go"));
        (void)json_array_insert_new(list, prop_below(p, json_array_size(list) + 1), container);
    }
    return list;
}

static json_t *random_pod(struct prop *p)
{
    return json_pack("{s:s, s:s, s:{s:o}, s:{s:o}}", "apiVersion", "v1", "kind", "Pod", "metadata",
                     "labels", random_labels(p), "spec", "containers", random_containers(p));
}

static json_t *container_of(const json_t *pod, const char *name)
{
    json_t *container;
    size_t i;

    json_array_foreach (json_at(pod, "spec", "containers", NULL), i, container)
        if (text_equal(json_text(container, "name"), name))
            return container;
    return NULL;
}

/* Has the patched object every wanted member, no member that only the last apply had, and every
 * other member unchanged? */
static bool is_right(const json_t *last, const json_t *live, const json_t *want,
                     const json_t *after, const char *key)
{
    const json_t *wanted = json_at(want, "metadata", "labels", key, NULL);
    const json_t *had = json_at(last, "metadata", "labels", key, NULL);
    const json_t *found = json_at(after, "metadata", "labels", key, NULL);
    const json_t *before = json_at(live, "metadata", "labels", key, NULL);
    const json_t *c_want = container_of(want, key);
    const json_t *c_after = container_of(after, key);

    if (wanted ? !json_equal(found, wanted)
        : had  ? found != NULL
               : (before ? !json_equal(found, before) : found != NULL))
        return false;
    if (c_want)
        return c_after &&
               json_equal(json_object_get(c_after, "image"), json_object_get(c_want, "image")) &&
               (!json_object_get(c_want, "command") ||
                json_equal(json_object_get(c_after, "command"),
                           json_object_get(c_want, "command")));
    if (container_of(last, key))
        return !c_after;
    return container_of(live, key) ? json_equal(c_after, container_of(live, key)) : !c_after;
}

static void the_patch_applied_gives_what_is_wanted(void **state)
{
    const struct kind *k = kind_find("", "pods");

    (void)state;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct prop p = {seed};
        AUTO(json_freep) json_t *last = random_pod(&p);
        AUTO(json_freep) json_t *live = random_pod(&p);
        AUTO(json_freep) json_t *want = random_pod(&p);
        AUTO(json_freep) json_t *patch = three_way(k, last, live, want);
        AUTO(json_freep) json_t *after = NULL;
        AUTO(json_freep) json_t *again = NULL;

        assert_null(patch_strategic(k, live, patch, &after));
        for (size_t i = 0; i < COUNT(label_keys); i++)
            if (!is_right(last, live, want, after, label_keys[i]))
                fail_msg("seed %u: key %s", (unsigned)seed, label_keys[i]);
        again = three_way(k, want, after, want);
        if (json_object_size(again) != 0)
            fail_msg("seed %u: applied twice it changes again", (unsigned)seed);
    }
}

static void reads_documents_and_lists(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *message; /* NULL: no error */
    } cases[] = {
        {"kind: Pod\n---\nkind: Node\n", 2, NULL},
        {"kind: List\nitems:\n- kind: Pod\n- kind: Node\n", 2, NULL},
        {"# nothing\n---\n", 0, NULL},
        {"- kind: Pod\n", 0, "x.yaml: want objects with apiVersion and kind"},
        {"apiVersion: v1\n", 0, "x.yaml: an object without kind"},
        {"kind: List\nitems:\n- kind: List\n  items: []\n", 0, "x.yaml: a list in a list"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *objects = json_array();
        AUTO(err_freep) struct err *e = manifests_parse("x.yaml", str_of(cases[i].text), objects);

        if (cases[i].message)
            assert_string_equal(err_message(e), cases[i].message);
        else
            assert_null(e);
        if (!cases[i].message)
            assert_int_equal(json_array_size(objects), cases[i].n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_patch_says_what_changed_and_no_more),
        cmocka_unit_test(the_patch_applied_gives_what_is_wanted),
        cmocka_unit_test(reads_documents_and_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
