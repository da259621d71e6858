/* test_slurm_gres.c - gres.conf, cgroup.conf and topology.conf, and what a node lacks of them */

#include "base/mem.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_conf_files.h"
#include "kinds/slurm/slurm_gres.h"
#include "test.h"

#define GIB (INT64_C(1) << 30)

static struct err *read_text(void *arg, const char *path, struct buf *ret)
{
    (void)path;
    buf_add_text(ret, arg);
    return NULL;
}

static struct err *load(const char *text, struct slurm_conf *ret)
{
    return slurm_conf_load("/g.conf", read_text, (void *)(uintptr_t)text, ret);
}

/* Reads the text as the file `name` beside an empty slurm.conf. */
static struct err *make(const char *name, const char *text, struct slurm_conf_objects *ret)
{
    struct slurm_conf conf = {0};
    struct slurm_conf empty = {0};
    const struct slurm_conf_file *file = slurm_conf_files;
    struct err *e = load("", &empty);

    while (file->name && !text_equal(file->name, name))
        file++;
    assert_non_null(file->name);
    if (!e)
        e = slurm_conf_objects_make(&empty, ret);
    if (!e)
        e = load(text, &conf);
    if (!e)
        e = file->add(&conf, ret);
    slurm_conf_done(&conf);
    slurm_conf_done(&empty);
    return e;
}

static void assert_made(const char *name, const char *text, const char *member, const char *want)
{
    struct slurm_conf_objects made = {0};
    AUTO(err_freep) struct err *e = make(name, text, &made);
    AUTO_FREE char *found = NULL;

    if (e)
        fail_msg("%s", err_message(e));
    found = json_format(text_equal(member, "notes") ? made.notes
                                                    : json_at(made.config, "spec", member, NULL));
    assert_string_equal(found, want);
    slurm_conf_objects_done(&made);
}

static void assert_wrong(const char *name, const char *text, const char *message)
{
    struct slurm_conf_objects made = {0};
    AUTO(err_freep) struct err *e = make(name, text, &made);

    if (!e)
        fail_msg("taken: %s", text);
    assert_string_equal(err_message(e), message);
    slurm_conf_objects_done(&made);
}

static void gres_conf_names_gpus_slices_and_shares(void **state)
{
    (void)state;
    assert_made("gres.conf",
                "NodeName=n[1-2] Name=gpu Type=tesla File=/dev/nvidia[0-1,3] COUNT=3\n"
                "Name=gpu Type=1g.10gb "
                "MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap21\n"
                "Name=gpu Type=a100_1g.5gb AutoDetect=nvml\n"
                "Name=shard Count=8 File=/dev/nvidia2\nName=mps Count=1K\n",
                "gres",
                "[{\"names\":\"n[1-2]\",\"name\":\"gpu\",\"type\":\"tesla\",\"count\":3,"
                "\"gpus\":\"0,1,3\"},"
                "{\"name\":\"gpu\",\"type\":\"1g.10gb\",\"count\":1,\"gpus\":\"0\"},"
                "{\"name\":\"gpu\",\"type\":\"a100_1g.5gb\",\"count\":0},"
                "{\"name\":\"shard\",\"count\":8,\"gpus\":\"2\"},"
                "{\"name\":\"mps\",\"count\":1024}]");
    assert_made("gres.conf", "AutoDetect=nvml\nName=nic Count=2\nName=gpu Count=1 Links=-1,4",
                "notes",
                "[{\"where\":\"/g.conf:1\",\"key\":\"AutoDetect\",\"why\":\"Mete finds gpus by "
                "itself, with their cpus and links: docs/gpus.md\"},{\"where\":\"/g.conf:2\","
                "\"key\":\"nic\",\"why\":\"Mete has no such resource: jobs that ask for it are "
                "refused\"},{\"where\":\"/g.conf:3\",\"key\":\"Links\",\"why\":\"Mete finds gpus "
                "by itself, with their cpus and links: docs/gpus.md\"}]");
}

static void gres_conf_says_what_would_be_right(void **state)
{
    static const char *const cases[][2] = {
        {"Name=gpu Foo=1", "/g.conf:1: unknown key 'Foo'"},
        {"\nType=a100", "/g.conf:2: want Name=gpu, Name=shard or Name=mps"},
        {"Name=gpu AutoDetect=magic",
         "/g.conf:1: AutoDetect=magic: want one of nvml,nvidia,nrt,rsmi,oneapi,off"},
        {"Name=gpu File=/dev/nvidia0 MultipleFiles=/dev/nvidia1",
         "/g.conf:1: File and MultipleFiles exclude each other"},
        {"Name=gpu File=/dev/nvidia[0-3] Count=2",
         "/g.conf:1: Count=2: the line has files of 4 gpus"},
        {"Name=gpu File=nvidia0", "/g.conf:1: File=nvidia0: want the path of a device"},
        {"Name=gpu File=/dev/nvidia[0-", "/g.conf:1: File: hostlist: '[' without ']'"},
        {"Name=gpu Count=many", "/g.conf:1: Count=many: want a number"},
        {"Name=gpu Count=1M", "/g.conf:1: Count=1M: want at most 1024 gpus"},
        {"Name=mps", "/g.conf:1: Name=mps: want Count="},
        {"Name=gpu Type=small MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap21",
         "/g.conf:1: Type=small: want the name of a MIG profile (1g.10gb, a100_1g.5gb), since a "
         "gpu has several such files"},
        {"NodeName=n[1 Name=gpu", "/g.conf:1: NodeName: hostlist: '[' without ']'"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_wrong("gres.conf", cases[i][0], cases[i][1]);
}

static void cgroup_conf_is_what_holds(void **state)
{
    (void)state;
    assert_made("cgroup.conf", "ConstrainCores=yes\nConstrainRAMSpace=yes ConstrainDevices=yes",
                "notes", "[]");
    assert_made("cgroup.conf", "ConstrainDevices=no\nAllowedRAMSpace=90.5", "notes",
                "[{\"where\":\"/g.conf:1\",\"key\":\"ConstrainDevices\",\"why\":\"jobs are always "
                "held to their cpus, memory and devices\"},{\"where\":\"/g.conf:2\",\"key\":"
                "\"AllowedRAMSpace\",\"why\":\"jobs have the memory that they ask for; RealMemory "
                "of a node bounds all of them\"}]");
    assert_wrong("cgroup.conf", "ConstrainCores=maybe",
                 "/g.conf:1: ConstrainCores=maybe: want YES or NO");
    assert_wrong("cgroup.conf", "Foo=1", "/g.conf:1: unknown key 'Foo'");
}

static void topology_conf_puts_switches_above_nodes(void **state)
{
    (void)state;
    assert_made("topology.conf",
                "SwitchName=r1 Nodes=n[1-2] LinkSpeed=4\nSwitchName=core Switches=r[1-2]\n"
                "SwitchName=r2 Nodes=n3\nBlockName=b Nodes=m1",
                "nodes",
                "[{\"names\":\"n[1-2]\",\"switches\":\"core/r1\"},{\"names\":\"n3\",\"switches\":"
                "\"core/r2\"},{\"names\":\"m1\",\"switches\":\"b\"}]");
    assert_wrong("topology.conf", "SwitchName=a",
                 "/g.conf:1: SwitchName=a: want Nodes= or Switches=");
    assert_wrong("topology.conf", "SwitchName=a Nodes=n\nSwitchName=a Nodes=m",
                 "/g.conf:2: SwitchName=a: the switch is there twice");
    assert_wrong("topology.conf", "SwitchName=a Switches=b",
                 "/g.conf:1: Switches: there is no switch 'b'");
    assert_wrong("topology.conf", "SwitchName=a Switches=b\nSwitchName=b Switches=a",
                 "/g.conf:1: more than 8 switches above each other");
    assert_wrong("topology.conf", "Nodes=a", "/g.conf:1: want SwitchName= or BlockName=");
}

/* ---- plans ---- */

/* Two H100 of 80 GiB and one A100 of 40 GiB; `more` are members of the last one. */
static json_t *three_gpus(const char *more)
{
    AUTO_FREE char *text =
        mem_format("[{'uuid':'GPU-0','index':0,'model':'h100','memoryBytes':%lld},"
                   "{'uuid':'GPU-1','index':1,'model':'h100','memoryBytes':%lld},"
                   "{'uuid':'GPU-2','index':2,'model':'a100','memoryBytes':%lld%s}]",
                   (long long)(80 * GIB), (long long)(80 * GIB), (long long)(40 * GIB), more);
    json_t *gpus = NULL;

    for (char *c = text; *c; c++)
        *c = (char)(*c == '\'' ? '"' : *c);
    assert_null(json_parse(str_of(text), &gpus));
    return gpus;
}

struct plan_case {
    const char *conf; /* gres.conf */
    const char *gres; /* of the node's line */
    const char *more; /* of the last gpu */
    const char *modes;
    const char *want; /* "FOUND/WANTED MODES" */
};

static void assert_plan(const struct plan_case *c)
{
    struct slurm_conf_objects made = {0};
    AUTO(err_freep) struct err *e = make("gres.conf", c->conf, &made);
    AUTO(json_freep) json_t *lines = json_array();
    AUTO(json_freep) json_t *gpus = three_gpus(c->more ? c->more : "");
    AUTO(json_freep) json_t *modes = NULL;
    struct slurm_gres_node node = {.gres = c->gres, .lines = lines, .gpus = gpus};
    AUTO(slurm_gres_plan_done) struct slurm_gres_plan plan = {0};
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *found = NULL;

    assert_null(e);
    if (json_at(made.config, "spec", "gres", NULL))
        (void)json_array_append(lines, json_at(made.config, "spec", "gres", NULL));
    if (c->modes)
        assert_null(json_parse(str_of(c->modes), &modes));
    node.modes = modes;
    slurm_gres_plan(&node, &plan);
    text = json_format(plan.modes);
    found = mem_format("%lld/%lld %s", (long long)plan.found, (long long)plan.wanted, text);
    assert_string_equal(found, c->want);
    slurm_conf_objects_done(&made);
}

static void gpus_are_divided_as_the_files_want(void **state)
{
    static const struct plan_case cases[] = {
        {"", "gpu:3", NULL, NULL, "3/3 {}"},
        {"Name=gpu File=/dev/nvidia[0-3]", "gpu:4", NULL, NULL, "3/4 {}"},
        {"", "gpu:h100:2,gpu:1g.5gb:2", NULL, NULL, "4/4 {\"GPU-2\":\"slices=1g.5gb:2\"}"},
        {"", "gpu:1g.10gb:14", NULL, NULL,
         "14/14 "
         "{\"GPU-0\":\"slices=1g.10gb:3\",\"GPU-1\":\"slices=1g.10gb:7\",\"GPU-2\":\"slices=1g."
         "10gb:4\"}"},
        {"Name=gpu Type=3g.40gb MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap21\n"
         "Name=gpu Type=1g.10gb MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap30\n"
         "Name=gpu Type=1g.10gb MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap39\n"
         "Name=gpu File=/dev/nvidia[1-2]",
         "gpu:5", NULL, NULL, "5/5 {\"GPU-0\":\"slices=1g.10gb:2,3g.40gb:1\"}"},
        /* Slices that the driver has, and wishes of others, stay. */
        {"", "gpu:1g.5gb:2",
         ",'mode':'slices','slices':[{'profile':'1g.5gb'},{'profile':'1g.5gb'}]", NULL, "2/2 {}"},
        {"", "gpu:h100:2,gpu:1g.5gb:3",
         ",'flexible':true,'mode':'slices','slices':[{'profile':'3g.20gb'}]",
         "{\"GPU-2\":\"flexible\"}", "5/5 {}"},
        {"", "gpu:1g.5gb:1", NULL, "{\"GPU-2\":\"whole\"}", "0/1 {}"},
        {"Name=shard Count=4 File=/dev/nvidia1\nName=gpu File=/dev/nvidia[0-2]", NULL, NULL, NULL,
         "3/3 {\"GPU-1\":\"replicas=4,renamed\"}"},
        {"Name=gpu Type=9g.90gb Count=1", NULL, NULL, NULL, "0/1 {}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_plan(&cases[i]);
}

static void types_have_a_model_or_a_profile_or_both(void **state)
{
    static const struct {
        const char *text;
        const char *model;
        const char *profile;
    } cases[] = {
        {"H100", "h100", ""},
        {"1g.10gb", "", "1g.10gb"},
        {"2g.20gb+me", "", "2g.20gb+me"},
        {"a100_1g.5gb", "a100", "1g.5gb"},
        {"nvidia_a100_3g.20gb", "nvidia_a100", "3g.20gb"},
        {"rtx_6000", "rtx_6000", ""},
        {"_1g.5gb", "_1g.5gb", ""},
    };
    struct slurm_gpu_type t;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_true(slurm_gpu_type_read(str_of(cases[i].text), &t));
        assert_string_equal(t.model, cases[i].model);
        assert_string_equal(t.profile, cases[i].profile);
    }
    assert_false(slurm_gpu_type_read(str_of(""), &t));
}

static void a_named_slice_is_asked_for_of_a_model(void **state)
{
    AUTO(json_freep) json_t *spec = json_pack("{s:s}", "gres", "gpu:a100_1g.5gb:2");
    AUTO_FREE char *tres = NULL;
    AUTO_FREE char *gres = NULL;
    struct slurm_ask ask;

    (void)state;
    assert_null(slurm_ask_read(spec, &ask));
    assert_string_equal(ask.model, "a100");
    assert_string_equal(ask.gpus.profile, "1g.5gb");
    tres = slurm_ask_tres(&ask);
    gres = slurm_ask_gres(&ask);
    assert_string_equal(gres, "gres/gpu:a100_1g.5gb:2");
    assert_string_equal(tres, "cpu=1,node=1,billing=1,gres/gpu=2,gres/gpu:a100_1g.5gb=2");
}

static void tasks_and_gpus_follow_from_each_other(void **state)
{
    static const struct {
        const char *spec;
        const char *want; /* tres, or why not */
        int64_t tasks;
    } cases[] = {
        {"{\"tasksPerGpu\":2,\"gpus\":\"2\"}", "cpu=4,node=1,billing=4,gres/gpu=2", 4},
        {"{\"tasksPerGpu\":2,\"gres\":\"gpu:h100:1\",\"nodesMin\":3}",
         "cpu=6,node=3,billing=6,gres/gpu=3,gres/gpu:h100=3", 6},
        {"{\"tasksPerGpu\":2,\"tasks\":5}", "cpu=5,node=1,billing=5,gres/gpu=3", 5},
        {"{\"tasksPerGpu\":2,\"tasks\":6,\"nodesMin\":2}", "cpu=6,node=2,billing=6,gres/gpu=4", 6},
        {"{\"tasksPerGpu\":2,\"tasks\":1,\"gpus\":\"2\"}", "cpu=1,node=1,billing=1,gres/gpu=2", 1},
        {"{\"tasksPerGpu\":2}", "Invalid generic resource (gres) specification", 0},
        {"{\"tasksPerGpu\":2,\"gres\":\"shard:2\"}",
         "Invalid generic resource (gres) specification", 0},
        {"{\"tasksPerGpu\":9223372036854775807,\"gpus\":\"2\"}",
         "Invalid generic resource (gres) specification", 0},
        {"{\"tasksPerGpu\":2,\"gpusPerTask\":\"1\"}",
         "--gpus-per-task is mutually exclusive with --ntasks-per-gpu", 0},
        {"{\"tasksPerGpu\":2,\"tasksPerNode\":1}",
         "--ntasks-per-node is mutually exclusive with --ntasks-per-gpu", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *spec = NULL;
        AUTO(err_freep) struct err *e = json_parse(str_of(cases[i].spec), &spec);
        AUTO_FREE char *tres = NULL;
        struct slurm_ask ask = {0};

        assert_null(e);
        e = slurm_ask_read(spec, &ask);
        tres = e ? NULL : slurm_ask_tres(&ask);
        assert_string_equal(e ? err_message(e) : tres, cases[i].want);
        assert_int_equal(ask.tasks, cases[i].tasks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gres_conf_names_gpus_slices_and_shares),
        cmocka_unit_test(gres_conf_says_what_would_be_right),
        cmocka_unit_test(cgroup_conf_is_what_holds),
        cmocka_unit_test(topology_conf_puts_switches_above_nodes),
        cmocka_unit_test(gpus_are_divided_as_the_files_want),
        cmocka_unit_test(types_have_a_model_or_a_profile_or_both),
        cmocka_unit_test(a_named_slice_is_asked_for_of_a_model),
        cmocka_unit_test(tasks_and_gpus_follow_from_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
