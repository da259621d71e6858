/* decay.c - powers of 1/2 and the decayed average */

#include "engine/queue/decay.h"

/* 2^-(2^-i) for i = 1 .. 32, in 1/2^63. */
static const uint64_t roots[32] = {
    UINT64_C(0x5a827999fcef3242), UINT64_C(0x6ba27e656b4eb57a), UINT64_C(0x75606373ee921c97),
    UINT64_C(0x7a92be8a92436616), UINT64_C(0x7d41d96db915019d), UINT64_C(0x7e9f06067a4360ba),
    UINT64_C(0x7f4f08ae3dc7c425), UINT64_C(0x7fa765aca88f6452), UINT64_C(0x7fd3ab290e46d768),
    UINT64_C(0x7fe9d3a8e07bf085), UINT64_C(0x7ff4e9597bed93aa), UINT64_C(0x7ffa748dff8dc61e),
    UINT64_C(0x7ffd3a3f50020332), UINT64_C(0x7ffe9d1dbc0a75a9), UINT64_C(0x7fff4e8e6306ed58),
    UINT64_C(0x7fffa74712c3cdfd), UINT64_C(0x7fffd3a381b1fa28), UINT64_C(0x7fffe9d1beed0189),
    UINT64_C(0x7ffff4e8defb81d7), UINT64_C(0x7ffffa746f5f012f), UINT64_C(0x7ffffd3a37a7d0a8),
    UINT64_C(0x7ffffe9d1bd1fc58), UINT64_C(0x7fffff4e8de8832d), UINT64_C(0x7fffffa746f422d6),
    UINT64_C(0x7fffffd3a37a09bb), UINT64_C(0x7fffffe9d1bd02f1), UINT64_C(0x7ffffff4e8de80fd),
    UINT64_C(0x7ffffffa746f4060), UINT64_C(0x7ffffffd3a37a028), UINT64_C(0x7ffffffe9d1bd012),
    UINT64_C(0x7fffffff4e8de808), UINT64_C(0x7fffffffa746f404),
};

uint64_t decay_scale(uint64_t part, uint64_t factor, uint64_t whole)
{
    unsigned __int128 ret = (unsigned __int128)part * factor / whole;

    return ret > UINT64_MAX ? UINT64_MAX : (uint64_t)ret;
}

uint64_t decay_exp2(uint64_t part, uint64_t whole)
{
    uint64_t times = part / whole;
    uint64_t rest = decay_scale(part % whole, UINT64_C(1) << 32, whole); /* under 2^32 */
    uint64_t ret = EXP2_ONE;

    if (times > 62)
        return 0;
    for (unsigned i = 0; i < 32; i++)
        if (rest >> (31 - i) & 1)
            ret = (uint64_t)((unsigned __int128)ret * roots[i] >> 63);
    return ret >> times;
}

void decay_note(struct decay *u, uint64_t now, int64_t passed_ns)
{
    if (passed_ns > 0)
        u->area += (unsigned __int128)u->then * (uint64_t)passed_ns;
    u->then = now;
}

void decay_fold(struct decay *u, int64_t passed_ns, int64_t half_life_ns)
{
    uint64_t average = (uint64_t)(u->area / (uint64_t)passed_ns);
    uint64_t left = decay_exp2((uint64_t)passed_ns, (uint64_t)half_life_ns);

    /* the past keeps `left`; the average makes up the rest */
    if (u->lately > average)
        u->lately = average + decay_scale(u->lately - average, left, EXP2_ONE);
    else
        u->lately = average - decay_scale(average - u->lately, left, EXP2_ONE);
    u->area = 0;
}
