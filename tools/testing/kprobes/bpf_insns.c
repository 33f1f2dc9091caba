// SPDX-License-Identifier: GPL-2.0
/*
 * Attaches one BPF program to many instructions by one link, runs a command, and prints how
 * often each of them was hit:
 *
 *	bpf_insns FLAGS COMMAND [session | override | symbols] <ADDRESSES
 *
 * FLAGS are the flags of the link, as a number. ADDRESSES are hexadecimal, and the cookies
 * number them. The program is one of a session; or it may override what a function returns;
 * or the input has names of functions instead of addresses. Prints
 *
 *	attached COUNT SECONDS
 *	hit ADDRESS HITS FUNCTION IP	for each address: the latest result of
 *					bpf_get_func_ip(), and the latest regs->ip
 *	link COUNT FLAGS MISSED		the kernel's description of the link, after that
 *	detached SECONDS
 *
 * or "refused ERROR". The program makes the system calls itself: the headers and the libbpf
 * of the build machine may be older than the flag.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <asm/ptrace.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What the program records for each instruction. */
struct hits {
	uint64_t hits;
	uint64_t func_ip;
	uint64_t ip;
};

/* The kprobe_multi part of struct bpf_link_info, as of Linux 6.6. */
struct link_info {
	uint32_t type;
	uint32_t id;
	uint32_t prog_id;
	uint32_t unused;
	uint64_t addrs;
	uint32_t count;
	uint32_t flags;
	uint64_t missed;
	uint64_t cookies;
};

/* Newer than the headers of some build machines. */
#define TRACE_KPROBE_SESSION	56

#define ARRAY_SIZE(ARRAY)	(sizeof(ARRAY) / sizeof((ARRAY)[0]))

#define INSN(CODE, DST, SRC, OFF, IMM) \
	((struct bpf_insn){ .code = (CODE), .dst_reg = (DST), .src_reg = (SRC), \
			    .off = (OFF), .imm = (IMM) })
#define CALL(FUNC)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, FUNC)
#define MOV(DST, SRC)		INSN(BPF_ALU64 | BPF_MOV | BPF_X, DST, SRC, 0, 0)
#define ADD(DST, IMM)		INSN(BPF_ALU64 | BPF_ADD | BPF_K, DST, 0, 0, IMM)
#define LOAD(DST, SRC, OFF)	INSN(BPF_LDX | BPF_MEM | BPF_DW, DST, SRC, OFF, 0)
#define STORE(DST, OFF, SRC)	INSN(BPF_STX | BPF_MEM | BPF_DW, DST, SRC, OFF, 0)

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int fail(const char *what)
{
	fprintf(stderr, "bpf_insns: %s: %s\n", what, strerror(errno));
	return 1;
}

static int load(int map, int type, bool override)
{
	const struct bpf_insn count[] = {
		MOV(BPF_REG_6, BPF_REG_1),
		CALL(BPF_FUNC_get_attach_cookie),
		INSN(BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_0, -4, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		MOV(BPF_REG_2, BPF_REG_10),
		ADD(BPF_REG_2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 8, 0),
		MOV(BPF_REG_7, BPF_REG_0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_7, BPF_REG_1, 0, BPF_ADD),
		LOAD(BPF_REG_1, BPF_REG_6, offsetof(struct pt_regs, rip)),
		STORE(BPF_REG_7, offsetof(struct hits, ip), BPF_REG_1),
		MOV(BPF_REG_1, BPF_REG_6),
		CALL(BPF_FUNC_get_func_ip),
		STORE(BPF_REG_7, offsetof(struct hits, func_ip), BPF_REG_0),
		/* This must not say that the program has changed where execution resumes. */
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	const struct bpf_insn replace[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 0),
		CALL(BPF_FUNC_override_return),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	static char log[1 << 16];
	union bpf_attr attr;
	int prog;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.insns = (uintptr_t)(override ? replace : count);
	attr.insn_cnt = override ? ARRAY_SIZE(replace) : ARRAY_SIZE(count);
	attr.license = (uintptr_t)"GPL";
	attr.log_buf = (uintptr_t)log;
	attr.log_size = sizeof(log);
	attr.log_level = 1;
	attr.expected_attach_type = type;
	prog = bpf(BPF_PROG_LOAD, &attr);
	if (prog < 0)
		fprintf(stderr, "%s", log);
	return prog;
}

static int attach(int prog, int type, uint32_t flags, uint64_t *addrs, char **names,
		  uint64_t *cookies, uint32_t nr)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = prog;
	attr.link_create.attach_type = type;
	attr.link_create.kprobe_multi.flags = flags;
	attr.link_create.kprobe_multi.cnt = nr;
	if (names)
		attr.link_create.kprobe_multi.syms = (uintptr_t)names;
	else
		attr.link_create.kprobe_multi.addrs = (uintptr_t)addrs;
	attr.link_create.kprobe_multi.cookies = (uintptr_t)cookies;
	return bpf(BPF_LINK_CREATE, &attr);
}

int main(int argc, char **argv)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	uint64_t *addrs = NULL, *cookies = NULL;
	char **names = NULL, *word;
	union bpf_attr attr;
	struct link_info info = { 0 };
	uint32_t nr = 0, i;
	bool session, override, symbols;
	int map, prog, link, type;
	const char *kind;
	struct hits hits;
	double began;

	kind = argc == 4 ? argv[3] : "";
	session = !strcmp(kind, "session");
	override = !strcmp(kind, "override");
	symbols = !strcmp(kind, "symbols");
	if (argc < 3 || argc > 4 || (*kind && !session && !override && !symbols)) {
		fprintf(stderr,
			"bpf_insns FLAGS COMMAND [session | override | symbols] <ADDRESSES\n");
		return 1;
	}
	while (scanf("%ms", &word) == 1) {
		addrs = realloc(addrs, (nr + 1) * sizeof(*addrs));
		names = realloc(names, (nr + 1) * sizeof(*names));
		cookies = realloc(cookies, (nr + 1) * sizeof(*cookies));
		if (!addrs || !names || !cookies)
			return fail("memory");
		addrs[nr] = strtoull(word, NULL, 16);
		names[nr] = word;
		cookies[nr] = nr;
		nr++;
	}
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(i);
	attr.value_size = sizeof(hits);
	attr.max_entries = nr;
	map = bpf(BPF_MAP_CREATE, &attr);
	if (map < 0)
		return fail("map");
	type = session ? TRACE_KPROBE_SESSION : BPF_TRACE_KPROBE_MULTI;
	prog = load(map, type, override);
	if (prog < 0)
		return fail("program");

	began = now();
	/* The kernel sorts only its own copies. */
	link = attach(prog, type, strtoul(argv[1], NULL, 0), addrs, symbols ? names : NULL,
		      cookies, nr);
	if (link < 0) {
		printf("refused %s\n", strerrorname_np(errno));
		return 0;
	}
	printf("attached %u %.4f\n", nr, now() - began);
	fflush(stdout);
	if (system(argv[2])) {
		fprintf(stderr, "bpf_insns: failed: %s\n", argv[2]);
		return 1;
	}

	for (i = 0; i < nr; i++) {
		memset(&attr, 0, sizeof(attr));
		attr.map_fd = map;
		attr.key = (uintptr_t)&i;
		attr.value = (uintptr_t)&hits;
		if (bpf(BPF_MAP_LOOKUP_ELEM, &attr))
			return fail("hits");
		printf("hit %llx %llu %llx %llx\n", (unsigned long long)addrs[i],
		       (unsigned long long)hits.hits, (unsigned long long)hits.func_ip,
		       (unsigned long long)hits.ip);
	}
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = link;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		return fail("link");
	printf("link %u %x %llu\n", info.count, info.flags,
	       (unsigned long long)info.missed);

	began = now();
	close(link);
	printf("detached %.4f\n", now() - began);
	return 0;
}
