/* test_slurm_conf_objects.c - the objects that a slurm.conf describes */

#include "base/mem.h"
#include "kinds/slurm/slurm_conf_objects.h"
#include "kinds/slurm/slurm_partition.h"
#include "test.h"

static struct err *read_text(void *arg, const char *path, struct buf *ret)
{
    (void)path;
    buf_add_text(ret, arg);
    return NULL;
}

static struct err *make(const char *text, struct slurm_conf_objects *ret)
{
    struct slurm_conf conf = {0};
    struct err *e = slurm_conf_load("/s.conf", read_text, (void *)(uintptr_t)text, &conf);

    if (!e)
        e = slurm_conf_objects_make(&conf, ret);
    slurm_conf_done(&conf);
    return e;
}

static void assert_made(const char *text, const char *member, const char *want)
{
    struct slurm_conf_objects made = {0};
    AUTO(err_freep) struct err *e = make(text, &made);
    AUTO_FREE char *found = NULL;

    assert_null(e);
    found = json_format(text_equal(member, "notes")    ? made.notes
                        : text_equal(member, "config") ? json_object_get(made.config, "spec")
                                                       : made.partitions);
    assert_string_equal(found, want);
    slurm_conf_objects_done(&made);
}

static void assert_wrong(const char *text, const char *message)
{
    struct slurm_conf_objects made = {0};
    AUTO(err_freep) struct err *e = make(text, &made);

    assert_non_null(e);
    assert_string_equal(err_message(e), message);
    assert_null(made.config);
}

static void partitions_have_the_defaults_before_them(void **state)
{
    (void)state;
    assert_made("PartitionName=a Nodes=n[1-2] Default=YES\n"
                "PartitionName=DEFAULT MaxTime=1-0 State=down\n"
                "PartitionName=DEFAULT DefaultTime=30\n"
                "PartitionName=b Nodes=ALL MaxTime=UNLIMITED Default=yes AllowUsers=ann,bob\n"
                "PartitionName=c AllowGroups=ALL DefMemPerCPU=100 Priority=7",
                "partitions",
                "[{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodes\":\"n[1-2]\",\"order\":0}},"
                "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"state\":\"DOWN\","
                "\"defaultTimeMinutes\":30,\"nodes\":\"ALL\",\"isDefault\":true,"
                "\"allowUsers\":[\"ann\",\"bob\"],\"order\":1}},"
                "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"maxTimeMinutes\":1440,"
                "\"state\":\"DOWN\",\"defaultTimeMinutes\":30,\"memoryPerCpu\":\"100Mi\","
                "\"priorityTier\":7,\"priorityJobFactor\":7,\"nodes\":\"\",\"order\":2}}]");
}

static void node_sets_stand_for_their_nodes(void **state)
{
    (void)state;
    assert_made("PartitionName=a Nodes=s,x[7,9]\nNodeSet=s Feature=f Nodes=y1\n"
                "NodeName=n[1-2] Feature=f,g\nNodeName=n3 Feature=g",
                "partitions",
                "[{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodes\":\"n[1-2],y1,x[7,9]\","
                "\"order\":0}}]");
}

static void nodes_and_settings_are_the_config(void **state)
{
    (void)state;
    assert_made("MinJobAge=10\nmaxarraysize=5 SlurmctldPort=1\nDisableRootJobs=no\n"
                "NodeName=DEFAULT CPUs=4\nNodeName=n1 RealMemory=100 Gres=gpu:2 Weight=3\n"
                "DownNodes=n1 State=drain",
                "config",
                "{\"settings\":{\"MinJobAge\":\"10\",\"MaxArraySize\":\"5\","
                "\"DisableRootJobs\":\"NO\"},\"nodes\":[{\"cpus\":4,\"memory\":\"100Mi\","
                "\"gres\":\"gpu:2\",\"weight\":3,\"names\":\"n1\"},{\"state\":\"DRAIN\","
                "\"reason\":\"DownNodes of slurm.conf\",\"names\":\"n1\"}]}");
    assert_made("NodeName=n Gres=gpu:a100:8,nic:lustre:no_consume:4G,shard:2", "config",
                "{\"settings\":{},\"nodes\":[{\"gres\":\"gpu:a100:8,shard:2\",\"names\":"
                "\"n\"}]}");
    assert_made("RequeueExit=9,3-5,4\nPreemptMode=gang,suspend", "config",
                "{\"settings\":{\"RequeueExit\":\"3-5,9\",\"PreemptMode\":\"SUSPEND,GANG\"}}");
    assert_made("PreemptMode=CANCEL,GANG", "config", "{\"settings\":{\"PreemptMode\":\"CANCEL\"}}");
    assert_made("PreemptMode=GANG", "config", "{\"settings\":{\"PreemptMode\":\"OFF\"}}");
    assert_made("UsePAM=1\nUsePAM=0\nPartitionName=p LLN=YES OverSubscribe=FORCE:4", "notes",
                "[{\"where\":\"/s.conf:1\",\"key\":\"UsePAM\",\"why\":\"Mete starts and contains "
                "processes by its own means\"},{\"where\":\"/s.conf:3\",\"key\":\"LLN\",\"why\":"
                "\"Mete's own scheduler decides\"},{\"where\":\"/s.conf:3\",\"key\":"
                "\"OverSubscribe\",\"why\":\"no two jobs share cpus: NO holds\"}]");
}

static void says_what_would_be_right(void **state)
{
    (void)state;
    assert_wrong("Foo=1", "/s.conf:1: unknown key 'Foo'");
    assert_wrong("\nPartitionName=p Foo=1", "/s.conf:2: unknown key 'Foo' of a partition");
    assert_wrong("NodeName=n Foo=1", "/s.conf:1: unknown key 'Foo' of a node");
    assert_wrong("NodeName=n Gres=gpu:2,gpu:a100:1",
                 "/s.conf:1: Gres: 'gpu' is asked for with and without a type");
    assert_wrong("PartitionName=p State=ON",
                 "/s.conf:1: State=ON: want one of UP,DOWN,DRAIN,INACTIVE");
    assert_wrong("PartitionName=p MaxTime=x",
                 "/s.conf:1: MaxTime=x: want a time limit (30, 1:00:00, 7-0, UNLIMITED)");
    assert_wrong("PartitionName=p PriorityTier=70000",
                 "/s.conf:1: PriorityTier=70000: want a number from 0 to 65533");
    assert_wrong("PartitionName=p\nPartitionName=p",
                 "/s.conf:2: PartitionName=p: the partition is there twice");
    assert_wrong("PartitionName=p MaxTime=10 DefaultTime=20",
                 "/s.conf:1: DefaultTime is greater than MaxTime");
    assert_wrong("RequeueExit=7-3",
                 "/s.conf:1: RequeueExit=7-3: want exit codes from 0 to 255, as in 1,5-10");
    assert_wrong("PreemptMode=SUSPEND",
                 "/s.conf:1: PreemptMode=SUSPEND: want OFF, CANCEL, REQUEUE or SUSPEND,GANG");
    assert_wrong(
        "PreemptMode=CANCEL,REQUEUE",
        "/s.conf:1: PreemptMode=CANCEL,REQUEUE: want OFF, CANCEL, REQUEUE or SUSPEND,GANG");
    assert_wrong("PrivateData=jobs,usage",
                 "/s.conf:1: PrivateData=jobs,usage restricts and is not implemented: want leave "
                 "it out: a namespace for each group of users hides jobs from others "
                 "(docs/users.md)");
}

static bool is_adm(const void *arg, const char *group)
{
    (void)arg;
    return text_equal(group, "adm");
}

/* Asserts that the partition admits the user; else the error's text. */
static void assert_admits(const char *spec, const struct slurm_submitter *by, const char *message)
{
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = json_parse(str_of(spec), &tree);

    assert_null(e);
    e = slurm_partition_admit(tree, by);
    assert_string_equal(e ? err_message(e) : "", message);
}

static void partitions_admit_whom_they_name(void **state)
{
    const struct slurm_submitter ann = {
        .user = "ann", .uid = 1000, .account = "a", .qos = "normal", .is_member = is_adm};
    const struct slurm_submitter root = {.user = "root", .is_admin = true, .qos = "normal"};
    static const char denied[] = "Access/permission denied";
    static const char account[] = "Invalid account or account/partition combination specified";

    (void)state;
    assert_admits("{\"allowUsers\":[\"alice\",\"bob\"]}", &ann, denied);
    assert_admits("{\"allowUsers\":[\"alice\",\"bob\"]}", &root, "");
    assert_admits("{\"allowUsers\":[\"ann\"],\"denyUsers\":[\"ann\"]}", &ann, "");
    assert_admits("{\"denyUsers\":[\"ann\"]}", &ann, denied);
    assert_admits("{\"allowGroups\":[\"wheel\"]}", &ann,
                  "User's group not permitted to use this partition");
    assert_admits("{\"allowGroups\":[\"wheel\",\"adm\"]}", &ann, "");
    assert_admits("{\"allowAccounts\":[\"b\"]}", &ann, account);
    assert_admits("{\"denyAccounts\":[\"a\"]}", &ann, account);
    assert_admits("{\"allowQos\":[\"high\"]}", &ann, "Invalid qos specification");
    assert_admits("{\"rootOnly\":true}", &ann, denied);
    assert_admits("{\"rootOnly\":true}", &root, "");
    assert_admits("{\"disableRootJobs\":true}", &root, denied);
    assert_admits("{\"requiresReservation\":true}", &ann, denied);
    assert_admits("{\"state\":\"DRAIN\"}", &root,
                  "Required partition not available (inactive or drain)");
}

/* Why a job of one node with this limit waits; "": it may start. */
static void assert_waits(const char *spec, int64_t nodes, int64_t minutes, const char *want)
{
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = json_parse(str_of(spec), &tree);
    const char *why = NULL;

    assert_null(e);
    why = slurm_partition_wait(tree, nodes, minutes);
    assert_string_equal(text_or_empty(why), want);
}

static void jobs_wait_for_what_a_partition_limits(void **state)
{
    (void)state;
    assert_waits("{\"nodes\":\"ALL\",\"maxTimeMinutes\":60}", 1, 60, "");
    assert_waits("{\"nodes\":\"ALL\",\"maxTimeMinutes\":60}", 1, 61, "PartitionTimeLimit");
    assert_waits("{\"nodes\":\"ALL\",\"maxTimeMinutes\":60}", 1, 0, "PartitionTimeLimit");
    assert_waits("{\"nodes\":\"ALL\",\"maxNodes\":2}", 3, 0, "PartitionNodeLimit");
    assert_waits("{\"nodes\":\"ALL\",\"minNodes\":2}", 1, 0, "PartitionNodeLimit");
    assert_waits("{\"nodes\":\"ALL\",\"state\":\"DOWN\"}", 1, 0, "PartitionDown");
    assert_waits("{\"nodes\":\"ALL\",\"state\":\"INACTIVE\"}", 1, 0, "PartitionInactive");
    assert_waits("{\"nodes\":\"ALL\",\"state\":\"DRAIN\"}", 1, 0, "");
    assert_waits("{\"nodes\":\"\"}", 1, 0, "PartitionConfig");
    assert_null(slurm_partition_wait(NULL, 9, 0));
}

static void assert_filled(const char *partition, const char *settings, const char *job,
                          const char *want)
{
    const char *const texts[] = {partition, settings, job};
    AUTO(json_freep) json_t *trees = json_array();
    AUTO_FREE char *found = NULL;

    for (size_t i = 0; i < COUNT(texts); i++) {
        json_t *tree = NULL;
        AUTO(err_freep) struct err *e = json_parse(str_of(texts[i]), &tree);

        assert_null(e);
        json_array_append_new(trees, tree);
    }
    slurm_partition_fill(json_array_get(trees, 0), json_array_get(trees, 1),
                         json_array_get(trees, 2));
    found = json_format(json_array_get(trees, 2));
    assert_string_equal(found, want);
}

static void jobs_get_what_they_leave_open(void **state)
{
    (void)state;
    assert_filled("{\"memoryPerCpu\":\"100Mi\"}", "{\"DefMemPerNode\":\"7\"}", "{}",
                  "{\"memoryPerCpu\":\"100Mi\"}");
    assert_filled("{}", "{\"DefMemPerNode\":\"7\"}", "{}", "{\"memoryPerNode\":\"7Mi\"}");
    assert_filled("{\"memoryPerNode\":\"1Gi\"}", "{}", "{\"memoryPerGpu\":\"2Gi\"}",
                  "{\"memoryPerGpu\":\"2Gi\"}");
    assert_filled("{\"memoryPerGpu\":\"1Gi\",\"cpusPerGpu\":4}", "{}", "{}", "{}");
    assert_filled("{\"memoryPerGpu\":\"1Gi\",\"cpusPerGpu\":4}", "{}", "{\"gpus\":\"1\"}",
                  "{\"gpus\":\"1\",\"cpusPerGpu\":4,\"memoryPerGpu\":\"1024Mi\"}");
    assert_filled("{\"overSubscribe\":\"EXCLUSIVE\"}", "{}", "{}", "{\"exclusive\":true}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitions_have_the_defaults_before_them),
        cmocka_unit_test(node_sets_stand_for_their_nodes),
        cmocka_unit_test(nodes_and_settings_are_the_config),
        cmocka_unit_test(says_what_would_be_right),
        cmocka_unit_test(partitions_admit_whom_they_name),
        cmocka_unit_test(jobs_wait_for_what_a_partition_limits),
        cmocka_unit_test(jobs_get_what_they_leave_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
