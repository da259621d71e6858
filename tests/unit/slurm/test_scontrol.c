/* test_scontrol.c - scontrol and sinfo: records, tables and changes */

#include "base/mem.h"
#include "slurm/show.h"
#include "slurm/sinfo.h"
#include "slurm/update.h"
#include "test.h"

static json_t *parse(const char *text)
{
    json_t *j = NULL;
    AUTO(err_freep) struct err *e = json_parse(str_of(text), &j);

    assert_null(e);
    return j;
}

static void shows_a_job_as_scontrol(void **state)
{
    AUTO(json_freep)
    json_t *row = parse(
        "{\"jobId\":14,\"arrayJobId\":13,\"arrayTaskId\":1,\"arrayTaskLimit\":2,\"name\":\"sweep\","
        "\"user\":\"ann\",\"uid\":1000,\"group\":\"dev\",\"gid\":100,\"state\":\"RUNNING\","
        "\"startTime\":1795516200,\"submitTime\":1795516100,\"eligibleTime\":1795516100,"
        "\"endTime\":1795523400,\"timeLimit\":120,\"partition\":\"main\",\"nodes\":\"n1\","
        "\"batchHost\":\"n1\",\"nodeCount\":1,\"cpus\":4,\"tasks\":2,\"cpusPerTask\":2,"
        "\"cpusMin\":4,\"memoryPerNode\":16384,\"tresRequested\":\"cpu=4,mem=16G,node=1\","
        "\"tresAllocated\":\"cpu=4,mem=16G,node=1\",\"tresPerNode\":\"gres/gpu:1\","
        "\"requeue\":true,\"batch\":true,\"priority\":7,\"command\":\"/x.sh\",\"workDir\":\"/w\","
        "\"stdout\":\"/w/o\",\"stderr\":\"/w/o\",\"comment\":\"text\",\"submitHost\":\"n0\"}");
    const struct slurm_view view = {.now_s = 1795519800};
    const struct slurm_show show = {.view = &view};
    AUTO(buf_done) struct buf out = {0};

    (void)state;
    slurm_show_job(&show, row, &out);
    assert_string_equal(
        out.at, "JobId=14 ArrayJobId=13 ArrayTaskId=1 ArrayTaskThrottle=2 JobName=sweep\n"
                "   UserId=ann(1000) GroupId=dev(100) MCS_label=N/A\n"
                "   Priority=7 Nice=0 Account=(null) QOS=normal\n"
                "   JobState=RUNNING Reason=None Dependency=(null)\n"
                "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
                "   RunTime=01:00:00 TimeLimit=02:00:00 TimeMin=N/A\n"
                "   SubmitTime=2026-11-24T10:28:20 EligibleTime=2026-11-24T10:28:20\n"
                "   AccrueTime=2026-11-24T10:28:20\n"
                "   StartTime=2026-11-24T10:30:00 EndTime=2026-11-24T12:30:00 Deadline=N/A\n"
                "   SuspendTime=None SecsPreSuspend=0 LastSchedEval=Unknown Scheduler=Main\n"
                "   Partition=main AllocNode:Sid=n0:0\n"
                "   ReqNodeList=(null) ExcNodeList=(null)\n"
                "   NodeList=n1\n"
                "   BatchHost=n1\n"
                "   NumNodes=1 NumCPUs=4 NumTasks=2 CPUs/Task=2 ReqB:S:C:T=0:0:*:*\n"
                "   ReqTRES=cpu=4,mem=16G,node=1\n"
                "   AllocTRES=cpu=4,mem=16G,node=1\n"
                "   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*\n"
                "   MinCPUsNode=4 MinMemoryNode=16G MinTmpDiskNode=0\n"
                "   Features=(null) DelayBoot=00:00:00\n"
                "   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)\n"
                "   Command=/x.sh\n"
                "   WorkDir=/w\n"
                "   Comment=text\n"
                "   StdErr=/w/o\n"
                "   StdIn=/dev/null\n"
                "   StdOut=/w/o\n"
                "   TresPerNode=gres/gpu:1\n\n");
}

static const char *no_variable(const char *name)
{
    (void)name;
    return NULL;
}

static void groups_nodes_as_sinfo(void **state)
{
    static const struct {
        const char *const words[6];
        const char *want;
    } cases[] = {
        {{NULL},
         "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
         "main*        up   infinite      1  drain n3\n"
         "main*        up   infinite      2    mix n[1-2]\n"},
        {{"-s"},
         "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T)  NODELIST\n"
         "main*        up   infinite          2/0/1/3  n[1-3]\n"},
        {{"-h", "-N", "-o", "%N %t %C"}, "n1 mix 4/4/0/8\nn2 mix 2/6/0/8\nn3 drain 0/0/8/8\n"},
        {{"-h", "-t", "drain", "-o", "%n|%E|%G"}, "n3|disk|gpu:h100:2\n"},
        {{"-h", "-n", "n[1,3]", "-o", "%P,%m"}, "main*,1000\n"},
    };
    AUTO(json_freep)
    json_t *nodes = parse(
        "[{\"name\":\"n1\",\"state\":\"MIXED\",\"cpus\":8,\"cpusAllocated\":4,\"memory\":1000,"
        "\"partitions\":[\"main\"]},{\"name\":\"n2\",\"state\":\"MIXED\",\"cpus\":8,"
        "\"cpusAllocated\":2,\"memory\":1000,\"partitions\":[\"main\"]},{\"name\":\"n3\","
        "\"state\":\"IDLE\",\"flags\":[\"DRAIN\"],\"reason\":\"disk\",\"cpus\":8,\"memory\":1000,"
        "\"gres\":\"gpu:h100:2\",\"partitions\":[\"main\"]}]");
    AUTO(json_freep)
    json_t *partitions =
        parse("[{\"name\":\"main\",\"isDefault\":true,\"state\":\"UP\",\"timeLimit\":-1}]");
    const struct slurm_view view = {.now_s = 1795519800};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_words_done) struct slurm_words w = {0};
        AUTO(sinfo_done) struct sinfo s = {0};
        AUTO(buf_done) struct buf out = {0};
        AUTO(err_freep) struct err *e = NULL;
        size_t n = 0;

        while (cases[i].words[n])
            n++;
        e = slurm_words_parse(sinfo_options, false, n, cases[i].words, &w);
        if (!e)
            e = sinfo_read(&w, no_variable, &s);
        if (!e)
            e = sinfo_print(&s, nodes, partitions, &view, &out);
        assert_null(e);
        assert_string_equal(out.at, cases[i].want);
    }
}

static void changes_jobs(void **state)
{
    AUTO(json_freep)
    json_t *job =
        parse("{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"heldIndexes\":\"1-3\","
              "\"requeues\":{\"*\":1,\"2\":4},\"timeLimitMinutes\":60}}");
    static const struct slurm_update updates[] = {
        {"timelimit", "+30"}, {"Name", "x"}, {"arraytaskthrottle", "3"}, {"Requeue", "0"}};
    static const struct slurm_update requests[] = {{"Partition", "b"},      {"NumNodes", "2-4"},
                                                   {"minmemorynode", "2G"}, {"OverSubscribe", "NO"},
                                                   {"Switches", "1@10:00"}, {"Priority", "0"},
                                                   {"Features", ""}};
    static const struct slurm_update bad[] = {{"NumNodes", "3-1"},
                                              {"MinMemoryCPU", "x"},
                                              {"OverSubscribe", "x"},
                                              {"Priority", "-2"},
                                              {"EndTime", "now+1hour"}};
    static const struct slurm_update unknown[] = {{"Foo", "2"}};
    json_t *patches[6] = {0};
    static const char *const want[] = {
        "{\"hold\":\"user\"}",
        "{\"heldIndexes\":\"1,3\"}",
        "{\"requeues\":{\"*\":2}}",
        "{\"hold\":\"admin\",\"requeues\":{\"*\":2}}",
        "{\"timeLimitMinutes\":90,\"name\":\"x\",\"array\":{\"limit\":3},\"requeue\":false}",
        "{\"partition\":\"b\",\"nodesMin\":2,\"nodesMax\":4,\"memoryPerNode\":\"2048Mi\","
        "\"memoryPerCpu\":null,\"memoryPerGpu\":null,\"exclusive\":true,\"switches\":1,"
        "\"switchesWait\":300,"
        "\"hold\":\"user\",\"constraint\":null}",
    };
    AUTO(err_freep) struct err *e = NULL;
    json_t *none = NULL;

    (void)state;
    assert_null(slurm_hold_patch(job, "*", "user", &patches[0]));
    assert_null(slurm_hold_patch(job, "2", NULL, &patches[1]));
    assert_null(slurm_requeue_patch(job, "*", NULL, &patches[2]));
    assert_null(slurm_requeue_patch(job, "*", "admin", &patches[3]));
    assert_null(slurm_update_patch(job, updates, COUNT(updates), 1, NULL, &patches[4]));
    assert_null(slurm_update_patch(job, requests, COUNT(requests), 1, NULL, &patches[5]));
    for (size_t i = 0; i < COUNT(bad); i++) {
        e = slurm_update_patch(job, &bad[i], 1, 1, NULL, &none);
        assert_non_null(e);
        err_free(e);
    }
    for (size_t i = 0; i < COUNT(want); i++) {
        AUTO_FREE char *spec = json_format(json_object_get(patches[i], "spec"));

        assert_string_equal(spec, want[i]);
        assert_string_equal(json_text_at(patches[i], "metadata", "resourceVersion", NULL), "7");
    }
    e = slurm_update_patch(job, unknown, 1, 1, NULL, &none);
    assert_non_null(e);
    assert_string_equal(err_message(e),
                        "Update of this parameter is not supported: Foo=2\nRequest aborted");
    for (size_t i = 0; i < COUNT(patches); i++)
        json_decref(patches[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_a_job_as_scontrol),
        cmocka_unit_test(groups_nodes_as_sinfo),
        cmocka_unit_test(changes_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
