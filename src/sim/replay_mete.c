#include "sim/replay_private.h"

void replay_mete(struct replay *r)
{
    replay_srtf(r);
}
