/* Elements of every type: known bits, runs as one by one, and a precision's name and types. */
#include <math.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "check.h"
#include "nn/element.h"

static void files_have_numbers_of_all_types(void)
{
	static const struct {
		const char *type;
		uint64_t bits;
		double value;
	} known[] = {
		{"F32", 0xbfc00000, -1.5}, {"F64", 0x3ff8000000000000, 1.5}, {"I32", 0xfffffffe, -2},
		{"BF16", 0xc020, -2.5}, {"I64", 0xffffffffffffffff, -1}, {"U8", 255, 255}, {"I16", 0xfffd, -3},
		{"F16", 0x3e00, 1.5}, {"F16", 0x8001, -0x1p-24}, {"F16", 0x7c00, INFINITY}, {"BOOL", 1, 1},
		{"I8", 0xfc, -4}, {"U16", 0xffff, 65535}, {"U32", 0xffffffff, 4294967295.0}, {"U64", 1, 1},
		{"F8_E4M3", 0x38, 1}, {"F8_E4M3", 0xfe, -448}, {"F8_E4M3", 0x01, 0x1p-9},
		{"F8_E5M2", 0x3c, 1}, {"F8_E5M2", 0xfb, -57344}, {"F8_E5M2", 0x01, 0x1p-16},
	};
	bool seen[MR_N_DTYPES] = {false};
	mr_dtype t;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint64_t at[2] = {0};

		CU_ASSERT_FATAL(mr_dtype_find_saved(known[i].type, &t));
		CU_ASSERT_STRING_EQUAL(mr_dtype_saved_name(t), known[i].type);
		memcpy((char *)at + mr_dtype_bytes(t), &known[i].bits, mr_dtype_bytes(t));
		CU_ASSERT_EQUAL(mr_element_saved(t, at, 0), 0);
		CU_ASSERT_EQUAL(mr_element_saved(t, at, 1), known[i].value);
		seen[t] = true;
	}
	for (t = 0; t < MR_N_DTYPES; t++)
		CU_ASSERT(seen[t]);
	CU_ASSERT(mr_dtype_find_saved("F8_E4M3", &t));
	CU_ASSERT(isnan(mr_element_saved(t, "\x7f", 0)));
	CU_ASSERT(isnan(mr_element_saved(t, "\xff", 0)));
	CU_ASSERT_FALSE(mr_dtype_find_saved("f32", &t));
	CU_ASSERT_FALSE(mr_dtype_find("F32", &t));
}

static void runs_are_elements(void)
{
	static const char *const names[] = {"f32", "f64", "i32", "bf16"};
	double x[40], runs[40];
	float floats[40];

	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		mr_dtype t;

		CU_ASSERT_FATAL(mr_dtype_find(names[k], &t));
		CU_ASSERT_STRING_EQUAL(mr_dtype_name(t), names[k]);
		for (int i = 0; i < 40; i++)
			mr_element_put(t, x, i, (i - 20) * 1.3);
		mr_elements(t, x, 3, 37, runs);
		mr_elements_f32(t, x, 3, 37, floats);
		for (int i = 0; i < 37; i++) {
			CU_ASSERT_EQUAL(runs[i], mr_element(t, x, i + 3));
			CU_ASSERT_EQUAL(floats[i], (float)mr_element(t, x, i + 3));
		}
	}
}

static void precisions_have_names(void)
{
	static const char *const names[] = {"f32", "f64", "bf16", "bf16_pure"};

	CU_ASSERT_EQUAL_FATAL(MR_N_PRECISIONS, sizeof(names) / sizeof(names[0]));
	for (mr_precision p = 0; p < MR_N_PRECISIONS; p++) {
		const mr_types *t = mr_types_at(p);

		CU_ASSERT_EQUAL(mr_types_precision(t), p);
		CU_ASSERT_STRING_EQUAL(mr_types_name(t), names[p]);
		CU_ASSERT_EQUAL(mr_types_pure(t), p == MR_AS_bf16_pure);
		CU_ASSERT_EQUAL(mr_dtype_is_narrow(t->weights), p >= MR_AS_bf16);
		CU_ASSERT_EQUAL(mr_dtype_wide(t->weights), t->compute);
		CU_ASSERT(mr_dtype_is_weight(t->weights));
	}
}

void mr_suite_elements(void); /* the runner declares it too */

void mr_suite_elements(void)
{
	MR_SUITE("elements");
	MR_TEST(files_have_numbers_of_all_types);
	MR_TEST(runs_are_elements);
	MR_TEST(precisions_have_names);
}
