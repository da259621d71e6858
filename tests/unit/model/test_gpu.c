/* test_gpu.c - short names of products, and words for health */

#include <string.h>

#include "model/gpu.h"
#include "test.h"

static void a_product_has_a_short_name(void **state)
{
    static const struct {
        const char *product;
        const char *model;
    } cases[] = {
        {"NVIDIA H100 80GB HBM3", "h100"},
        {"NVIDIA H100 NVL", "h100"},
        {"NVIDIA A100-SXM4-40GB", "a100"},
        {"NVIDIA GH200 480GB", "gh200"},
        {"Tesla T4", "t4"},
        {"Tesla V100-SXM2-16GB", "v100"},
        {"NVIDIA L40S", "l40s"},
        {"NVIDIA GeForce RTX 4090", "rtx4090"},
        {"NVIDIA GeForce GTX 1080 Ti", "gtx1080ti"},
        {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
        {"NVIDIA RTX A6000", "a6000"},
        {"Quadro RTX 8000", "rtx8000"},
        {"NVIDIA TITAN RTX", "titanrtx"},
        {"AMD Instinct MI300X", "mi300x"},
        {"Graphics Device", "graphicsdevice"},
        {"", ""},
        {" - ", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char model[GPU_TEXT_SIZE];

        gpu_model_of(cases[i].product, model);
        assert_string_equal(model, cases[i].model);
    }
}

static void a_long_product_is_cut(void **state)
{
    char product[4096];
    char model[GPU_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(product); i++)
        product[i] = i % 50 == 49 ? ' ' : 'x';
    product[sizeof(product) - 1] = '\0';
    gpu_model_of(product, model);
    assert_int_equal(strlen(model), GPU_TEXT_SIZE - 1);
}

static void every_health_has_a_word(void **state)
{
    (void)state;
    assert_string_equal(gpu_health_text(GPU_HEALTHY), "healthy");
    assert_string_equal(gpu_health_text(GPU_UNHEALTHY), "unhealthy");
    assert_string_equal(gpu_health_text(GPU_NOT_ANSWERING), "not answering");
    assert_string_equal(gpu_health_text(GPU_LOST), "lost");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_has_a_short_name),
        cmocka_unit_test(a_long_product_is_cut),
        cmocka_unit_test(every_health_has_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
