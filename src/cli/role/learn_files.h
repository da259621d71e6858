/* learn_files.h - the files that the server and `mete learn-values` exchange in one directory */
#pragma once

#define LEARN_NODES  "nodes.csv" /* in the format of sim/openb.h */
#define LEARN_PODS   "pods.csv"
#define LEARN_STATE  "arrivals.json"
#define LEARN_VALUES "values" /* in use; sim/value_table.h */
#define LEARN_NEW    "values.new"

enum {
    LEARN_NOT_BETTER = 3 /* exit code: there is no values.new */
};
