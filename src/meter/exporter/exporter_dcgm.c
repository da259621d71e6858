/*
 * exporter_dcgm.c - the gpus under the names of NVIDIA's dcgm-exporter
 *
 * Names, types, texts and labels are those of etc/default-counters.csv of dcgm-exporter 4.5, so
 * that its dashboards and people's rules work unchanged; the old names are those of
 * etc/1.x-compatibility-metrics.csv. One difference: a gpu in MIG mode has one series for each
 * reading that only the gpu as a whole has, not one for each slice.
 */

#include <inttypes.h>

#include "gpu/gpu_xid.h"
#include "meter/exporter/exporter_private.h"

/* The conversion of a reading to the value. */
enum dcgm_form {
    DCGM_AS_IS,
    DCGM_MILLI, /* in 1/1000 of the family's unit */
    DCGM_MIB,   /* from bytes */
    DCGM_RATE,  /* bytes a second of a counter, between the last two samples */
    DCGM_BOTH,  /* KiB, of a counter and the next field together */
    DCGM_ZERO,  /* 0 where the reading is known */
    DCGM_XID,   /* the last XID, with labels of its own: known also of a gpu that does not answer */
};

struct dcgm_family {
    const char *name;
    const char *old; /* NULL: none */
    enum metric_type type;
    const char *help;
    enum gpu_field field;
    enum dcgm_form form;
};

static const struct dcgm_family dcgm_families[] = {
    {"DCGM_FI_DEV_SM_CLOCK", "dcgm_sm_clock", METRIC_GAUGE, "SM clock frequency (in MHz).",
     GPU_FIELD_SM_CLOCK_MHZ, DCGM_AS_IS},
    {"DCGM_FI_DEV_MEM_CLOCK", "dcgm_memory_clock", METRIC_GAUGE, "Memory clock frequency (in MHz).",
     GPU_FIELD_MEMORY_CLOCK_MHZ, DCGM_AS_IS},
    {"DCGM_FI_DEV_MEMORY_TEMP", "dcgm_memory_temp", METRIC_GAUGE, "Memory temperature (in C).",
     GPU_FIELD_MEMORY_TEMPERATURE_C, DCGM_AS_IS},
    {"DCGM_FI_DEV_GPU_TEMP", "dcgm_gpu_temp", METRIC_GAUGE, "GPU temperature (in C).",
     GPU_FIELD_TEMPERATURE_C, DCGM_AS_IS},
    {"DCGM_FI_DEV_POWER_USAGE", "dcgm_power_usage", METRIC_GAUGE, "Power draw (in W).",
     GPU_FIELD_POWER_MW, DCGM_MILLI},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "dcgm_total_energy_consumption", METRIC_COUNTER,
     "Total energy consumption since boot (in mJ).", GPU_FIELD_ENERGY_MJ, DCGM_AS_IS},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "dcgm_pcie_replay_counter", METRIC_COUNTER,
     "Total number of PCIe retries.", GPU_FIELD_PCIE_REPLAYS, DCGM_AS_IS},
    {"DCGM_FI_DEV_GPU_UTIL", "dcgm_gpu_utilization", METRIC_GAUGE, "GPU utilization (in %).",
     GPU_FIELD_UTILIZATION_PCT, DCGM_AS_IS},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", "dcgm_mem_copy_utilization", METRIC_GAUGE,
     "Memory utilization (in %).", GPU_FIELD_MEMORY_UTILIZATION_PCT, DCGM_AS_IS},
    {"DCGM_FI_DEV_ENC_UTIL", "dcgm_enc_utilization", METRIC_GAUGE, "Encoder utilization (in %).",
     GPU_FIELD_ENCODER_PCT, DCGM_AS_IS},
    {"DCGM_FI_DEV_DEC_UTIL", "dcgm_dec_utilization", METRIC_GAUGE, "Decoder utilization (in %).",
     GPU_FIELD_DECODER_PCT, DCGM_AS_IS},
    {"DCGM_FI_DEV_XID_ERRORS", "dcgm_xid_errors", METRIC_GAUGE,
     "Value of the last XID error encountered.", GPU_FIELD_XID_LAST, DCGM_XID},
    {"DCGM_FI_DEV_FB_FREE", "dcgm_fb_free", METRIC_GAUGE, "Framebuffer memory free (in MiB).",
     GPU_FIELD_MEMORY_FREE_BYTES, DCGM_MIB},
    {"DCGM_FI_DEV_FB_USED", "dcgm_fb_used", METRIC_GAUGE, "Framebuffer memory used (in MiB).",
     GPU_FIELD_MEMORY_USED_BYTES, DCGM_MIB},
    {"DCGM_FI_DEV_FB_RESERVED", NULL, METRIC_GAUGE, "Framebuffer memory reserved (in MiB).",
     GPU_FIELD_MEMORY_RESERVED_BYTES, DCGM_MIB},
    {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "dcgm_nvlink_bandwidth_total", METRIC_COUNTER,
     "Total number of NVLink bandwidth counters for all lanes.", GPU_FIELD_NVLINK_SENT_BYTES,
     DCGM_BOTH},
    /* a gpu that is not virtual has no licence: dcgm-exporter says 0 */
    {"DCGM_FI_DEV_VGPU_LICENSE_STATUS", NULL, METRIC_GAUGE, "vGPU License status",
     GPU_FIELD_TEMPERATURE_C, DCGM_ZERO},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", NULL, METRIC_COUNTER,
     "Number of remapped rows for uncorrectable errors", GPU_FIELD_REMAPPED_UNCORRECTABLE,
     DCGM_AS_IS},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", NULL, METRIC_COUNTER,
     "Number of remapped rows for correctable errors", GPU_FIELD_REMAPPED_CORRECTABLE, DCGM_AS_IS},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", NULL, METRIC_GAUGE, "Whether remapping of rows has failed",
     GPU_FIELD_REMAP_FAILED, DCGM_AS_IS},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "dcgm_fi_prof_gr_engine_active", METRIC_GAUGE,
     "Ratio of time the graphics engine is active.", GPU_FIELD_GRAPHICS_ACTIVE_MILLI, DCGM_MILLI},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "dcgm_fi_prof_pipe_tensor_active", METRIC_GAUGE,
     "Ratio of cycles the tensor (HMMA) pipe is active.", GPU_FIELD_TENSOR_ACTIVE_MILLI,
     DCGM_MILLI},
    {"DCGM_FI_PROF_DRAM_ACTIVE", "dcgm_fi_prof_dram_active", METRIC_GAUGE,
     "Ratio of cycles the device memory interface is active sending or receiving data.",
     GPU_FIELD_DRAM_ACTIVE_MILLI, DCGM_MILLI},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", "dcgm_fi_prof_pcie_tx_bytes", METRIC_GAUGE,
     "The rate of data transmitted over the PCIe bus - including both protocol headers and data "
     "payloads - in bytes per second.",
     GPU_FIELD_PCIE_SENT_BYTES, DCGM_RATE},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", "dcgm_fi_prof_pcie_rx_bytes", METRIC_GAUGE,
     "The rate of data received over the PCIe bus - including both protocol headers and data "
     "payloads - in bytes per second.",
     GPU_FIELD_PCIE_RECEIVED_BYTES, DCGM_RATE},
};

/* The value of a family; GPU_VALUE_UNKNOWN. */
static int64_t dcgm_value(const struct exported *d, const struct dcgm_family *f)
{
    int64_t value = exported_value(d, f->field);
    int64_t other;

    if (value == GPU_VALUE_UNKNOWN)
        return GPU_VALUE_UNKNOWN;
    switch (f->form) {
    case DCGM_MIB:
        return value >> 20;
    case DCGM_RATE:
        return d->pcie_bytes_s[f->field == GPU_FIELD_PCIE_SENT_BYTES ? 0 : 1];
    case DCGM_BOTH:
        other = exported_value(d, f->field + 1);
        return (value >> 10) + (other > 0 ? other >> 10 : 0);
    case DCGM_ZERO:
        return 0;
    case DCGM_AS_IS:
    case DCGM_MILLI:
    case DCGM_XID:
        break;
    }
    return value;
}

/* The last XID of each gpu, with the labels err_code and err_msg, as dcgm-exporter gives it. */
static void dcgm_write_xids(const struct exporter *e, struct exposition *x)
{
    VEC_EACH (&e->rows, d) {
        int64_t xid = d->history && !d->is_slice ? d->history->xid : -1;
        AUTO(buf_done) struct buf labels = {0};

        if (xid < 0)
            continue;
        buf_add_text(&labels, d->dcgm);
        labels_add(&labels, "err_code", arena_format(e->arena, "%" PRId64, xid));
        labels_add(&labels, "err_msg", xid > 0 ? xid_plain(xid).meaning : "No Error");
        exposition_add(x, labels.at, xid, 0);
    }
}

static void dcgm_write(const struct exporter *e, struct exposition *x, const struct dcgm_family *f)
{
    for (size_t i = 0; i < e->rows.n; i++) {
        const struct exported *d = &e->rows.at[i];
        int64_t value = dcgm_value(d, f);

        if (value == GPU_VALUE_UNKNOWN || exported_is_split(e, i, f->field))
            continue;
        exposition_add(x, d->dcgm, value, f->form == DCGM_MILLI ? 3 : 0);
    }
}

void exporter_write_dcgm(const struct exporter *e, struct exposition *x, bool is_old)
{
    for (size_t i = 0; i < sizeof(dcgm_families) / sizeof(dcgm_families[0]); i++) {
        const struct dcgm_family *f = &dcgm_families[i];
        const struct metric_family named = {
            .name = is_old ? f->old : f->name, .type = f->type, .help = f->help};

        if (!named.name)
            continue;
        exposition_family(x, &named);
        if (f->form == DCGM_XID)
            dcgm_write_xids(e, x);
        else
            dcgm_write(e, x, f);
    }
}
