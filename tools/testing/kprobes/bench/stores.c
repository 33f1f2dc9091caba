// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU that finds the cache lines that several CPUs write to during the
 * windows that kprobe_cpus.ko marks.
 *
 *	qemu-system-x86_64 -plugin stores.so,out=FILE
 *
 * When QEMU ends, FILE gets for the windows of each run:
 *
 *	window N cpus C lines L stores S shared X
 *	line N ADDRESS cpus C stores S by PC PC...
 *
 * with a "line" for each of the X shared lines, and up to four places in the code that
 * wrote to it. Lines are identified by their physical address, so that no alias hides
 * one. The plugin does not see the frame that the processor pushes for a trap, which
 * goes to the stack of the running task.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "stores.h"

#define NO_REGS		0
#define WRITES		2

__attribute__((visibility("default")))
int qemu_plugin_version = QEMU_VERSION >= 900 ? 2 : 1;

#define MAX_CPUS	64
#define MAX_WINDOWS	16
#define NR_PCS		4
#define BUCKETS		65536

/* Long nops; see MARK() in kprobe_cpus.c. The byte after these three tells them apart. */
static const uint8_t mark[] = { 0x0f, 0x1f, 0x80 };
static const uint8_t mark_end[] = { 0x62, 0x70, 0x6b };

enum { MARK_RUN = 1, MARK_OPEN, MARK_CLOSE };

struct line {
	unsigned long phys, virt, stores, pc[NR_PCS];
	uint64_t cpus;
	int window;
};

static struct line lines[BUCKETS];
static uint64_t cpus_in[MAX_WINDOWS];
static bool full;
static char out[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Only the thread of a CPU accesses its entry. */
static struct {
	int window;
	char pad[60];
} cpu_state[MAX_CPUS];

/* The number of the run. No CPU has an open window when it changes. */
static int run;

static void on_mark(unsigned int cpu, void *which)
{
	switch ((intptr_t)which) {
	case MARK_RUN:
		run++;
		break;
	case MARK_OPEN:
		cpu_state[cpu % MAX_CPUS].window = run < MAX_WINDOWS ? run : 0;
		break;
	case MARK_CLOSE:
		cpu_state[cpu % MAX_CPUS].window = 0;
		break;
	}
}

static struct line *line_of(uint64_t phys, int window)
{
	uint64_t i = (phys * 0x9e3779b97f4a7c15u + window) >> 48;
	unsigned int tries;

	for (tries = 0; tries < BUCKETS; tries++, i = (i + 1) % BUCKETS) {
		if (!lines[i].window) {
			lines[i].phys = phys;
			lines[i].window = window;
		}
		if (lines[i].phys == phys && lines[i].window == window)
			return &lines[i];
	}
	full = true;
	return NULL;
}

static void on_store(unsigned int cpu, uint32_t info, uint64_t addr, void *pc)
{
	int window = cpu_state[cpu % MAX_CPUS].window, i;
	struct qemu_plugin_hwaddr *hw;
	struct line *line;

	/* QEMU 7.2 also calls this for loads. */
	if (!window || !qemu_plugin_mem_is_store(info))
		return;
	hw = qemu_plugin_get_hwaddr(info, addr);
	if (!hw || qemu_plugin_hwaddr_is_io(hw))
		return;
	pthread_mutex_lock(&lock);
	cpus_in[window] |= (uint64_t)1 << (cpu % MAX_CPUS);
	line = line_of(qemu_plugin_hwaddr_phys_addr(hw) >> 6, window);
	if (line) {
		line->virt = addr & ~63ull;
		line->stores++;
		line->cpus |= (uint64_t)1 << (cpu % MAX_CPUS);
		for (i = 0; i < NR_PCS; i++) {
			if (!line->pc[i])
				line->pc[i] = (uintptr_t)pc;
			if (line->pc[i] == (uintptr_t)pc)
				break;
		}
	}
	pthread_mutex_unlock(&lock);
}

static void on_translate(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (qemu_plugin_insn_size(insn) == 7) {
#if QEMU_VERSION >= 901
			uint8_t data[7] = { 0 };

			qemu_plugin_insn_data(insn, data, sizeof(data));
#else
			const uint8_t *data = qemu_plugin_insn_data(insn);
#endif
			if (!memcmp(data, mark, sizeof(mark)) &&
			    !memcmp(data + 4, mark_end, sizeof(mark_end))) {
				qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, NO_REGS,
								       (void *)(intptr_t)data[3]);
				continue;
			}
		}
		qemu_plugin_register_vcpu_mem_cb(insn, on_store, NO_REGS, WRITES,
						 (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
	}
}

static void on_exit_of_qemu(uint64_t id, void *data)
{
	FILE *f = fopen(out, "w");
	unsigned int i;
	int window, pc;

	(void)id;
	(void)data;
	if (!f)
		return;
	for (window = 1; window < MAX_WINDOWS && !full; window++) {
		unsigned long stores = 0, nr = 0, shared = 0;

		if (!cpus_in[window])
			continue;
		for (i = 0; i < BUCKETS; i++) {
			if (lines[i].window != window)
				continue;
			nr++;
			stores += lines[i].stores;
			shared += __builtin_popcountll(lines[i].cpus) > 1;
		}
		fprintf(f, "window %d cpus %d lines %lu", window,
			__builtin_popcountll(cpus_in[window]), nr);
		fprintf(f, " stores %lu shared %lu\n", stores, shared);
		for (i = 0; i < BUCKETS; i++) {
			if (lines[i].window != window || __builtin_popcountll(lines[i].cpus) < 2)
				continue;
			fprintf(f, "line %d %lx cpus %d", window, lines[i].virt,
				__builtin_popcountll(lines[i].cpus));
			fprintf(f, " stores %lu by", lines[i].stores);
			for (pc = 0; pc < NR_PCS && lines[i].pc[pc]; pc++)
				fprintf(f, " %lx", lines[i].pc[pc]);
			fprintf(f, "\n");
		}
	}
	fclose(f);
}

__attribute__((visibility("default")))
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4) || strlen(argv[0]) >= sizeof(out)) {
		fprintf(stderr, "stores: give me out=FILE\n");
		return -1;
	}
	memcpy(out, argv[0] + 4, strlen(argv[0] + 4) + 1);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
