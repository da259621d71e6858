/* test_job_item.c - the rows of `mete ps`: waiting, running and ended pods, and Jobs */

#include "base/mem.h"
#include "kinds/job/job_item.h"
#include "test.h"
#include "world.h"

#define META(name, id)                                                                  \
    "'metadata':{'name':'" name "','namespace':'team-a','uid':'u-" name "',"            \
    "'creationTimestamp':'2026-11-22T08:00:00Z','labels':{'mete.dev/job-id':'" id "'}," \
    "'annotations':{'mete.dev/user':'ann'}}"
#define CONTAINERS(gpus) \
    "'containers':[{'name':'main','resources':{'limits':{'nvidia.com/gpu':'" gpus "'}}}]"

struct item_case {
    const char *object;
    const char *item; /* without apiVersion, kind and metadata */
};

static const struct item_case cases[] = {
    {"{'apiVersion':'v1','kind':'Pod'," META("a", "7") ",'spec':{" CONTAINERS(
         "2") "},"
              "'status':{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False',"
              "'message':'needs 2 gpus'}]}}",
     "{'spec':{'queue':'default','jobId':'7','user':'ann','gpus':2,'devices':'2'},"
     "'status':{'state':'waiting','reason':'needs 2 gpus','node':null,'exitCode':null,"
     "'submittedAt':'2026-11-22T08:00:00Z','startedAt':null,'endedAt':null},"
     "'cells':{'gpus':2,'reason':'needs 2 gpus'}}"},
    {"{'apiVersion':'v1','kind':'Pod'," META("b", "8") ",'spec':{'nodeName':'n1'," CONTAINERS(
         "1") "},'status':{'phase':'Running','containerStatuses':[{'name':'main','state':{'running'"
              ":"
              "{'startedAt':'2026-11-22T08:01:00Z'}}}]}}",
     "{'spec':{'queue':'default','jobId':'8','user':'ann','gpus':1,'devices':'1'},"
     "'status':{'state':'running','reason':null,'node':'n1','exitCode':null,"
     "'submittedAt':'2026-11-22T08:00:00Z','startedAt':'2026-11-22T08:01:00Z','endedAt':null},"
     "'cells':{'gpus':1,'reason':null}}"},
    {"{'apiVersion':'v1','kind':'Pod'," META(
         "c",
         "9") ",'spec':{'nodeName':'n1','containers':"
              "[{'name':'main'}]},'status':{'phase':'Failed','containerStatuses':[{'name':'main','"
              "state':"
              "{'terminated':{'exitCode':3,'reason':'OOMKilled','startedAt':'2026-11-22T08:01:00Z',"
              "'finishedAt':'2026-11-22T08:02:00Z'}}}]}}",
     "{'spec':{'queue':'default','jobId':'9','user':'ann','gpus':0,'devices':'0'},"
     "'status':{'state':'failed','reason':'OOMKilled','node':'n1','exitCode':3,"
     "'submittedAt':'2026-11-22T08:00:00Z','startedAt':'2026-11-22T08:01:00Z',"
     "'endedAt':'2026-11-22T08:02:00Z'},'cells':{'gpus':0,'reason':'OOMKilled'}}"},
    {"{'apiVersion':'batch/v1','kind':'Job'," META(
         "d", "10") ",'spec':{'completions':4,"
                    "'template':{'spec':{" CONTAINERS(
                        "1") "}}},'status':{'active':3,'ready':1,'succeeded':1,"
                             "'startTime':'2026-11-22T08:00:05Z'}}",
     "{'spec':{'queue':'default','jobId':'10','user':'ann','gpus':3,'devices':'3'},"
     "'status':{'state':'running','reason':null,'node':null,'exitCode':null,"
     "'submittedAt':'2026-11-22T08:00:00Z','startedAt':'2026-11-22T08:00:05Z','endedAt':null,"
     "'pods':{'completions':4,'active':3,'ready':1,'succeeded':1,'failed':0,'terminating':0}},"
     "'cells':{'gpus':3,'reason':'1 of 4 done, 1 running, 2 waiting'}}"},
};

static void rows_tell_state_times_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *object = manifest(cases[i].object);
        AUTO(json_freep) json_t *want = manifest(cases[i].item);
        AUTO(json_freep) json_t *item = job_item(object);
        AUTO_FREE char *found = NULL;
        AUTO_FREE char *wanted = NULL;

        assert_string_equal(json_text(item, "kind"), "Job");
        assert_string_equal(json_text_at(item, "metadata", "namespace", NULL), "team-a");
        assert_string_equal(json_text_at(item, "metadata", "uid", NULL),
                            json_text_at(object, "metadata", "uid", NULL));
        (void)json_object_del(item, "apiVersion");
        (void)json_object_del(item, "kind");
        (void)json_object_del(item, "metadata");
        found = json_dumps(item, JSON_SORT_KEYS);
        wanted = json_dumps(want, JSON_SORT_KEYS);
        assert_string_equal(found, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_tell_state_times_and_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
