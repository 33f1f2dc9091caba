// SPDX-License-Identifier: GPL-2.0
/*
 * Calls the kprobes API in every wrong way, and in right ways in between, on all CPUs at
 * once.
 *
 *	kprobe_abuse/begin	write anything: remembers how much kprobes have allocated
 *	kprobe_abuse/places	write "KIND ADDRESS SIZE" in hex, a line each: memory to aim
 *				at; "text" may take probes, any other kind must not
 *	kprobe_abuse/run	write "CALLS SEED": returns after that many calls
 *	kprobe_abuse/calls	read, also during a run: the number of calls so far
 *	kprobe_abuse/result	read: the counts, a line for each kind of target with its
 *				calls and how many of them were accepted, and how much has
 *				been allocated since "begin"
 *
 * Two threads on each CPU own some probes each. A thread knows the state of its own probes,
 * and so the errno that each call has to return. Other probes are shared: every thread does
 * anything to them. A structure is overwritten or freed after its probe is unregistered, and
 * sometimes overwritten before that. A handler that runs after its probe is gone finds poison,
 * or KASAN finds the handler.
 *
 * With another implementation of kprobes, some batches are a call for each probe, and correct
 * results may be reported as wrong: the test only shows what it survives. The parameters
 * select calls and targets.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bug.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/filter.h>
#include <linux/irq_work.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/objtool.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/fixmap.h>
#include <asm/nospec-branch.h>

#include "kprobe_bytes.h"
#include "kprobe_left.h"
#include "kprobe_abuse.h"

#ifndef KPROBES_TELL_COUNTS
/* Other implementations do not have these functions. */
static int enable_kprobes(struct kprobe **kps, int num)
{
	int i, ret = kps && num > 0 ? 0 : -EINVAL;

	for (i = 0; !ret && i < num; i++)
		ret = enable_kprobe(kps[i]);
	return ret;
}

static int disable_kprobes(struct kprobe **kps, int num)
{
	int i, ret = kps && num > 0 ? 0 : -EINVAL;

	for (i = 0; !ret && i < num; i++)
		ret = disable_kprobe(kps[i]);
	return ret;
}

static int enable_kretprobes(struct kretprobe **rps, int num)
{
	return enable_kprobes((struct kprobe **)rps, num);
}

static int disable_kretprobes(struct kretprobe **rps, int num)
{
	return disable_kprobes((struct kprobe **)rps, num);
}
#endif

#define POISON		0x61627573
#define NR_OWN		24
#define NR_SHARED	4
#define MAX_BATCH	12
#define MAX_PLACES	256

/* Results of a call, as bits. */
#define GOOD		BIT(0)
#define E_INVAL		BIT(1)
#define E_NOENT		BIT(2)
#define E_ILSEQ		BIT(3)
#define E_NOMEM		BIT(4)
#define E_DEADLK	BIT(5)
#define E_OTHER		BIT(6)
/* If no symbol covers the address, the specification leaves open which of them is returned. */
#define E_NO_TEXT	(E_INVAL | E_NOENT)
#define E_ANY		(GOOD | E_INVAL | E_NOENT | E_ILSEQ)

static unsigned int bit_of(int ret)
{
	switch (ret) {
	case 0:
		return GOOD;
	case -EINVAL:
		return E_INVAL;
	case -ENOENT:
		return E_NOENT;
	case -EILSEQ:
		return E_ILSEQ;
	case -ENOMEM:
		return E_NOMEM;
	case -EDEADLK:
		return E_DEADLK;
	default:
		return E_OTHER;
	}
}

/* -------------------------------- Targets ------------------------------- */

#define NR_BYTES	5

BYTES(abuse_bytes_a);
BYTES(abuse_bytes_b);
TARGET(abuse, traced)
notrace TARGET(abuse, plain)

/* The handlers of this one call the API. */
notrace TARGET(abuse, from_handlers)

/* Must not be probed: a jump label, and the trap of a warning. */
static DEFINE_STATIC_KEY_FALSE(abuse_key);

noinline int abuse_patched(int x)
{
	if (static_branch_unlikely(&abuse_key))
		return x + 1;
	WARN_ON(x == 4711);
	return x;
}

typedef unsigned long (*target_t)(unsigned long x);

enum { BYTES_A, BYTES_B, TRACED, PLAIN, NR_TARGETS };

static const target_t targets[NR_TARGETS] = {
	[BYTES_A] = abuse_bytes_a,
	[BYTES_B] = abuse_bytes_b,
	[TRACED] = abuse_traced,
	[PLAIN] = abuse_plain,
};

static const char *const names[NR_TARGETS] = {
	[BYTES_A] = "abuse_bytes_a",
	[BYTES_B] = "kprobe_abuse:abuse_bytes_b",
	[TRACED] = "abuse_traced",
	[PLAIN] = "kprobe_abuse:abuse_plain",
};

#define A_SYSCALL	(IS_ENABLED(CONFIG_X86_64) ? "entry_SYSCALL_64" : "entry_INT80_32")

/* Functions that a hit runs, or the handling of a hit. */
static const char *const blacklisted[] = {
	"kprobe_int3_handler", "kprobe_run_pre", "__kretprobe_trampoline", "exc_int3",
	"asm_exc_int3", A_SYSCALL, "__switch_to", "__switch_to_asm", "ftrace_caller",
	"exc_page_fault", "exc_nmi", "load_current_idt", "cpu_init_exception_handling",
};

static const char *const no_symbols[] = {
	"", ":", "no_such_symbol", "kprobe_abuse:", ":abuse_plain", "no_such_module:abuse_plain",
	"kprobe_abuse:no_such_symbol", "abuse_plain ", "vmlinux:vfs_read", "%s%n", "abuse_plain+1",
};

/* -------------------------------- Counts -------------------------------- */

static atomic_long_t calls_made, accepted, handler_calls, atomic_calls, irq_calls, scribbles, freed;
static atomic_long_t shared_calls, hits_seen, own_calls;
/* These must stay 0. */
static atomic_long_t wrong, late, unseen, spoiled;
static atomic_t running;
static unsigned int said;
static unsigned long quota;
static DEFINE_MUTEX(lock);
static struct dentry *dir;

static void complain(atomic_long_t *count, const char *what, const char *kind, int got,
		     unsigned int want)
{
	atomic_long_inc(count);
	/* The count is not exact, which is good enough for a log. */
	if (READ_ONCE(said) >= 20)
		return;
	WRITE_ONCE(said, said + 1);
	pr_err("%s: %s: got %d, wanted one of %#x\n", what, kind, got, want);
}

static void called(void)
{
	atomic_long_inc(&calls_made);
}

static bool more(void)
{
	return atomic_long_read(&calls_made) < READ_ONCE(quota);
}

/* -------------------------------- Probes -------------------------------- */

enum type { KPROBE, KRETPROBE, JPROBE };

/**
 * struct abused - a probe, and what the test knows of it
 * @kp:	   passed to the API, as are @rp and @jp; the other members are the owner's
 * @rp:	   likewise
 * @jp:	   likewise
 * @type:  which of the three is in use
 * @registered: the probe is registered
 * @enabled: it is enabled, if it is registered
 * @sure:  a call of the target must run the pre-handler
 * @scribbled: it is registered, and the structure was overwritten
 * @kind:  the kind of target
 * @want:  the allowed results of registering, as bits
 * @hits:  number of handler calls
 * @alive: POISON while handlers may run
 */
struct abused {
	union {
		struct kprobe kp;
		struct kretprobe rp;
#ifdef CONFIG_JPROBES
		struct jprobe jp;
#endif
	};
	enum type type;
	bool registered;
	bool enabled;
	bool sure;
	bool scribbled;
	unsigned int kind;
	unsigned int want;
	atomic_t hits;
	unsigned int alive;
};

static_assert(!offsetof(struct kretprobe, kp));

struct thread {
	struct rnd_state rnd;
	struct abused *own[NR_OWN];
};

static struct abused shared[NR_SHARED];

static unsigned int rnd(struct thread *t, unsigned int below)
{
	return prandom_u32_state(&t->rnd) % below;
}

static void look_at(struct abused *a)
{
	if (READ_ONCE(a->alive) != POISON)
		atomic_long_inc(&late);
	atomic_inc(&a->hits);
}

static int abused_pre(struct kprobe *kp, struct pt_regs *regs)
{
	look_at(container_of(kp, struct abused, kp));
	return 0;
}

static void abused_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	look_at(container_of(kp, struct abused, kp));
}

#ifdef KPROBES_TELL_COUNTS
static int abused_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	look_at(container_of(kp, struct abused, kp));
	return 0;
}
#endif

static int abused_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		look_at(container_of(rp, struct abused, rp));
	return 0;
}

#ifdef CONFIG_JPROBES
static unsigned long abused_jprobe(unsigned long x)
{
	jprobe_return();
	return 0;
}
#endif

/* --------------------------------- Aims --------------------------------- */

/*
 * Is @name in the list? Without a list every name is. The names of calls are in call_kinds[].
 * Three more names select what several calls do: "again" registers a probe that is registered
 * already, "absent" removes or switches a probe that is not registered, and "fields" fills
 * members with invalid values.
 */
static bool chosen(const char *list, const char *name)
{
	size_t len = strlen(name);
	const char *p;

	if (!list)
		return true;
	for (p = list; (p = strstr(p, name)); p += len) {
		if ((p == list || p[-1] == ',') && (!p[len] || p[len] == ','))
			return true;
	}
	return false;
}

/*
 * A kind of target. aim() fills in the address, or the symbol and the offset, and may change
 * the wanted result.
 */
struct kind {
	const char *name;
	void (*aim)(struct thread *t, struct abused *a);
	unsigned int want;
	bool entry;
	unsigned int weight;
};

/* Another module may be loaded where the init text of this one was. */
static bool others;
module_param(others, bool, 0444);
MODULE_PARM_DESC(others, "Modules are loaded during a run");

static char *calls_made_of;
module_param_named(calls, calls_made_of, charp, 0444);
MODULE_PARM_DESC(calls, "Only these, separated by commas: see chosen()");

static char *kinds_aimed_at;
module_param_named(kinds, kinds_aimed_at, charp, 0444);
MODULE_PARM_DESC(kinds, "Only targets of these kinds, separated by commas");

static void *vmalloced, *vfreed, *kmalloced;

/* A module can make BPF programs only as socket filters. */
#define HAS_BPF IS_ENABLED(CONFIG_NET)
static struct bpf_prog *prog;

static unsigned long init_text;
static DEFINE_PER_CPU(unsigned long, per_cpu_word);
static char in_data[64] = { 1 }, in_bss[64];
static const char in_rodata[64] = { 1 };

struct place {
	char kind[16];
	unsigned long addr;
	unsigned long size;
};

static struct place places[MAX_PLACES];
static unsigned int nr_places, nr_texts;

static void aim_at(struct abused *a, unsigned long addr)
{
	a->kp.addr = (kprobe_opcode_t *)addr;
}

static void aim_entry(struct thread *t, struct abused *a)
{
	/* To change one of its sites, ftrace goes through all of them, so rarely aim at one. */
	unsigned int i = rnd(t, NR_TARGETS);

	if (i == TRACED && rnd(t, 16))
		i = PLAIN;
	if (rnd(t, 2))
		a->kp.symbol_name = names[i];
	else
		aim_at(a, (unsigned long)targets[i]);
	/* At the entry the probe moves past the ENDBR, so both addresses are the entry. */
	if (ENDBR_SIZE && i != TRACED && rnd(t, 4) == 0)
		a->kp.offset = ENDBR_SIZE;
	a->sure = true;
}

static void aim_instruction(struct thread *t, struct abused *a)
{
	aim_at(a, (unsigned long)targets[rnd(t, 2) ? BYTES_A : BYTES_B]);
	a->kp.offset = ENDBR_SIZE + 1 + rnd(t, NR_BYTES);
	/* The offset may go into either structure. */
	if (rnd(t, 2)) {
		a->kp.addr += a->kp.offset;
		a->kp.offset = 0;
	}
	a->sure = true;
}

static void aim_inside(struct thread *t, struct abused *a)
{
	aim_at(a, (unsigned long)targets[rnd(t, 2) ? BYTES_A : BYTES_B]);
	a->kp.offset = ENDBR_SIZE + NR_BYTES + 1 + rnd(t, LEA_LENGTH - 1);
}

static void aim_endbr(struct thread *t, struct abused *a)
{
	a->kp.symbol_name = names[rnd(t, 2) ? BYTES_A : BYTES_B];
	a->kp.offset = 1 + rnd(t, ENDBR_SIZE - 1);
}

static void aim_nothing(struct thread *t, struct abused *a)
{
	a->kp.offset = rnd(t, 2) ? 0 : rnd(t, 64);
}

static void aim_both(struct thread *t, struct abused *a)
{
	a->kp.symbol_name = rnd(t, 2) ? names[PLAIN] : "no_such_symbol";
	aim_at(a, rnd(t, 2) ? (unsigned long)abuse_plain : rnd(t, PAGE_SIZE) + 1);
}

static void aim_no_symbol(struct thread *t, struct abused *a)
{
	static char *too_long;

	/* Longer than any symbol. */
	if (rnd(t, 8) == 0) {
		if (!READ_ONCE(too_long))
			WRITE_ONCE(too_long, (char *)vmalloced);
		a->kp.symbol_name = too_long;
		return;
	}
	a->kp.symbol_name = no_symbols[rnd(t, ARRAY_SIZE(no_symbols))];
	a->kp.offset = rnd(t, 3) ? 0 : prandom_u32_state(&t->rnd);
}

/*
 * Added to addresses in the module, these end in the user's half, or outside all text. On 32
 * bits, the last two wrap to text just before the address.
 */
static void aim_far(struct thread *t, struct abused *a)
{
	static const unsigned int offsets[] = { 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff };

	if (rnd(t, 2))
		a->kp.symbol_name = names[PLAIN];
	else
		aim_at(a, (unsigned long)abuse_plain);
	a->kp.offset = offsets[rnd(t, ARRAY_SIZE(offsets))];
}

static void aim_user(struct thread *t, struct abused *a)
{
	aim_at(a, 1 + (((u64)prandom_u32_state(&t->rnd) << 15) & (TASK_SIZE_MAX - 1)));
}

static void aim_low(struct thread *t, struct abused *a)
{
	aim_at(a, 1 + rnd(t, 2 * PAGE_SIZE));
}

static void aim_non_canonical(struct thread *t, struct abused *a)
{
	aim_at(a, BIT_ULL(63) | (u64)prandom_u32_state(&t->rnd) << (8 + rnd(t, 20)));
}

static void aim_top(struct thread *t, struct abused *a)
{
	aim_at(a, -1ul - rnd(t, 64));
}

static void aim_vmalloc(struct thread *t, struct abused *a)
{
	aim_at(a, (unsigned long)vmalloced + rnd(t, PAGE_SIZE));
}

static void aim_unmapped(struct thread *t, struct abused *a)
{
	aim_at(a, (unsigned long)vfreed + rnd(t, PAGE_SIZE));
}

static void aim_heap(struct thread *t, struct abused *a)
{
	aim_at(a, (unsigned long)kmalloced + rnd(t, PAGE_SIZE));
}

/* Text, but at an address at which it is not executed. */
static void aim_text_alias(struct thread *t, struct abused *a)
{
	aim_at(a, (unsigned long)page_address(vmalloc_to_page((void *)abuse_plain)) +
		  offset_in_page(abuse_plain));
}

static void aim_stack(struct thread *t, struct abused *a)
{
	aim_at(a, (unsigned long)&a);
}

static void aim_per_cpu(struct thread *t, struct abused *a)
{
	if (rnd(t, 2))
		aim_at(a, (unsigned long)per_cpu_ptr(&per_cpu_word, 0));
	else
		aim_at(a, (unsigned long)(uintptr_t)&per_cpu_word);
}

static void aim_fixmap(struct thread *t, struct abused *a)
{
	aim_at(a, __fix_to_virt(rnd(t, __end_of_fixed_addresses)) + rnd(t, PAGE_SIZE));
}

static void aim_data(struct thread *t, struct abused *a)
{
	static const char *const data[] = { in_data, in_bss, in_rodata };

	aim_at(a, (unsigned long)data[rnd(t, ARRAY_SIZE(data))] + rnd(t, sizeof(in_data)));
}

static void __ref aim_init(struct thread *t, struct abused *a)
{
	if (!others && rnd(t, 2))
		aim_at(a, init_text + rnd(t, 16));
	else
		a->kp.symbol_name = rnd(t, 2) ? "start_kernel" : "do_initcalls";
}

static void aim_bpf(struct thread *t, struct abused *a)
{
	aim_at(a, (unsigned long)prog->bpf_func + rnd(t, prog->jited_len));
}

static void aim_blacklisted(struct thread *t, struct abused *a)
{
	a->kp.symbol_name = blacklisted[rnd(t, ARRAY_SIZE(blacklisted))];
}

static void aim_padding(struct thread *t, struct abused *a)
{
	unsigned long entry = (unsigned long)targets[TRACED];

	/* Hide the address from objtool, which would not know why it is taken. */
	OPTIMIZER_HIDE_VAR(entry);
	aim_at(a, entry - 1 - rnd(t, CONFIG_FUNCTION_PADDING_BYTES));
}

static void aim_label(struct thread *t, struct abused *a)
{
	unsigned int i = rnd(t, THIS_MODULE->num_jump_entries);

	aim_at(a, jump_entry_code(&THIS_MODULE->jump_entries[i]));
}

static void aim_trap(struct thread *t, struct abused *a)
{
	struct bug_entry *bug = &THIS_MODULE->bug_table[rnd(t, THIS_MODULE->num_bugs)];

#ifdef CONFIG_GENERIC_BUG_RELATIVE_POINTERS
	aim_at(a, (unsigned long)&bug->bug_addr_disp + bug->bug_addr_disp);
#else
	aim_at(a, bug->bug_addr);
#endif
}

static void aim_text(struct thread *t, struct abused *a)
{
	struct place *p = &places[rnd(t, nr_texts)];

	aim_at(a, p->addr + prandom_u32_state(&t->rnd) % p->size);
}

static void aim_place(struct thread *t, struct abused *a)
{
	struct place *p = &places[nr_texts + rnd(t, nr_places - nr_texts)];

	aim_at(a, p->addr + prandom_u32_state(&t->rnd) % p->size);
}

static const struct kind kinds[] = {
	{ "entry", aim_entry, GOOD, true, .weight = 40 },
	{ "instruction", aim_instruction, GOOD, .weight = 40 },
	{ "inside", aim_inside, E_ILSEQ, .weight = 4 },
	{ "endbr", aim_endbr, E_ILSEQ | E_INVAL, .weight = ENDBR_SIZE ? 2 : 0 },
	{ "nothing", aim_nothing, E_INVAL, true, .weight = 2 },
	{ "both", aim_both, E_INVAL, true, .weight = 2 },
	{ "no_symbol", aim_no_symbol, E_NOENT, true, .weight = 4 },
	{ "far", aim_far, E_NO_TEXT, true, .weight = 2 },
	{ "user", aim_user, E_NO_TEXT, true, .weight = 2 },
	{ "low", aim_low, E_NO_TEXT, true, .weight = 2 },
	{ "non_canonical", aim_non_canonical, E_NO_TEXT, true,
		.weight = IS_ENABLED(CONFIG_X86_64) ? 2 : 0 },
	{ "top", aim_top, E_NO_TEXT, true, .weight = 2 },
	{ "vmalloc", aim_vmalloc, E_NO_TEXT, true, .weight = 2 },
	{ "unmapped", aim_unmapped, E_NO_TEXT, true, .weight = 2 },
	{ "heap", aim_heap, E_NO_TEXT, true, .weight = 2 },
	/* A page of high memory may have no other address. */
	{ "text_alias", aim_text_alias, E_NO_TEXT, true,
		.weight = IS_ENABLED(CONFIG_HIGHMEM) ? 0 : 2 },
	{ "stack", aim_stack, E_NO_TEXT, true, .weight = 2 },
	{ "per_cpu", aim_per_cpu, E_NO_TEXT, true, .weight = 2 },
	{ "fixmap", aim_fixmap, E_NO_TEXT, true, .weight = 2 },
	{ "data", aim_data, E_NO_TEXT, true, .weight = 2 },
	{ "init", aim_init, E_NO_TEXT, true, .weight = 2 },
	{ "bpf", aim_bpf, E_NO_TEXT, true, .weight = HAS_BPF ? 2 : 0 },
	{ "blacklisted", aim_blacklisted, E_INVAL, true, .weight = 4 },
	{ "padding", aim_padding, E_INVAL, true,
		.weight = IS_ENABLED(CONFIG_PREFIX_SYMBOLS) ? 2 : 0 },
	{ "label", aim_label, E_INVAL, true, .weight = 2 },
	{ "trap", aim_trap, E_INVAL, true, .weight = 2 },
	/* One in sixteen of these is an instruction that can be probed. */
	{ "text", aim_text, E_ANY, true, .weight = 12 },
	{ "place", aim_place, E_NO_TEXT, true, .weight = 10 },
};

static atomic_long_t kind_calls[ARRAY_SIZE(kinds)], kind_accepted[ARRAY_SIZE(kinds)];

static unsigned int weight_of_kind(unsigned int i)
{
	return chosen(kinds_aimed_at, kinds[i].name) ? kinds[i].weight : 0;
}

static unsigned int pick_kind(struct thread *t)
{
	unsigned int sum = 0, i, r;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		sum += weight_of_kind(i);
	r = rnd(t, sum);
	for (i = 0; r >= weight_of_kind(i); i++)
		r -= weight_of_kind(i);
	if ((kinds[i].aim == aim_text && !nr_texts) ||
	    (kinds[i].aim == aim_place && nr_places == nr_texts))
		i = 0;
	return i;
}

static void fill_kprobe(struct thread *t, struct abused *a)
{
	unsigned int r = prandom_u32_state(&t->rnd);

	if (r & 7)
		a->kp.pre_handler = abused_pre;
	else
		a->sure = false;
	if (!(r & 0x30))
		a->kp.post_handler = abused_post;
#ifdef KPROBES_TELL_COUNTS
	if (!(r & 0xc0))
		a->kp.fault_handler = abused_fault;
#endif
}

static void fill_kretprobe(struct thread *t, struct abused *a)
{
	static const int actives[] = { INT_MIN, -1, 0, 1, 2, 100, 3000 };
	static const size_t sizes[] = { 0, 1, 8, 333, KRETPROBE_MAX_DATA_SIZE };
	static const size_t too_much[] = {
		KRETPROBE_MAX_DATA_SIZE + 1, SZ_1M, 1ul << 31, SIZE_MAX
	};
	unsigned int r = prandom_u32_state(&t->rnd);

	a->rp.handler = r & 7 ? abused_return : NULL;
	a->rp.entry_handler = r & 0x18 ? NULL : abused_return;
	a->rp.maxactive = actives[rnd(t, ARRAY_SIZE(actives))];
	a->rp.data_size = a->rp.maxactive > 2 ? 8 : sizes[rnd(t, ARRAY_SIZE(sizes))];
	/* Other probes may hold all instances. */
	a->sure = false;
	if (!chosen(calls_made_of, "fields"))
		return;
	if (!(r & 0xf00)) {
		a->rp.data_size = too_much[rnd(t, ARRAY_SIZE(too_much))];
		a->want = (a->want & ~GOOD) | E_INVAL;
	} else if (!(r & 0xf000)) {
		a->rp.maxactive = INT_MAX - rnd(t, 2);
		a->want = (a->want & ~GOOD) | E_NOMEM;
	}
	if (kinds[a->kind].aim == aim_blacklisted && rnd(t, 4) == 0)
		a->kp.symbol_name = "irq_exit_rcu";
	/* The API ignores these handlers. */
	if (!(r & 0x30000))
		a->kp.pre_handler = (void *)1;
}

static void fill_jprobe(struct thread *t, struct abused *a)
{
#ifdef CONFIG_JPROBES
	if (rnd(t, 8) || !chosen(calls_made_of, "fields")) {
		a->jp.entry = JPROBE_ENTRY(abused_jprobe);
	} else {
		a->jp.entry = NULL;
		a->want = (a->want & ~GOOD) | E_INVAL;
	}
	a->sure = false;
#endif
}

/* Before it is filled in, the structure may hold anything. */
static void fill(struct thread *t, struct abused *a, enum type type)
{
	const struct kind *kind;
	u32 flags = 0;

	memset(a, 0, sizeof(*a));
	a->type = type;
	a->kind = pick_kind(t);
	kind = &kinds[a->kind];
	a->want = kind->want;
	kind->aim(t, a);
	if (type != KPROBE && !kind->entry)
		a->want = E_INVAL;
	if (type == KPROBE)
		fill_kprobe(t, a);
	else if (type == KRETPROBE)
		fill_kretprobe(t, a);
	else
		fill_jprobe(t, a);
	if (!rnd(t, 4))
		flags = prandom_u32_state(&t->rnd);
	if (chosen(calls_made_of, "fields"))
		a->kp.opcode = prandom_u32_state(&t->rnd);
	else
		flags &= chosen(calls_made_of, "switch") ? KPROBE_FLAG_DISABLED : 0;
	a->kp.flags = flags;
	a->enabled = !(flags & KPROBE_FLAG_DISABLED);
	a->alive = POISON;
}

/* From here on nothing may need the structure, or call a handler. */
static void scrap(struct thread *t, struct abused *a)
{
	struct abused *new;
	unsigned int i;

	a->alive = 0;
	a->registered = false;
	switch (rnd(t, 4)) {
	case 0:
		memset(&a->rp, 0, sizeof(a->rp));
		break;
	case 1:
		memset(&a->rp, 0xff, sizeof(a->rp));
		break;
	case 2:
		new = kzalloc(sizeof(*new), GFP_KERNEL);
		if (!new)
			break;
		for (i = 0; t->own[i] != a; i++)
			;
		t->own[i] = new;
		kfree(a);
		atomic_long_inc(&freed);
		break;
	}
}

/* Without a thread there is nothing random. */
static bool coin(struct thread *t)
{
	return t && rnd(t, 2);
}

/* A single probe goes to the function for one, or to that for an array. */
static bool as_one(struct thread *t, struct abused **all, int num)
{
	return num == 1 && all[0] && coin(t);
}

static int register_one(struct abused *a)
{
	if (a->type == KRETPROBE)
		return register_kretprobe(&a->rp);
#ifdef CONFIG_JPROBES
	if (a->type == JPROBE)
		return register_jprobe(&a->jp);
#endif
	return register_kprobe(&a->kp);
}

static int api_register(struct thread *t, struct abused **all, int num)
{
	if (as_one(t, all, num))
		return register_one(all[0]);
	if (all[0] && all[0]->type == KRETPROBE)
		return register_kretprobes((struct kretprobe **)all, num);
#ifdef CONFIG_JPROBES
	if (all[0] && all[0]->type == JPROBE)
		return register_jprobes((struct jprobe **)all, num);
#endif
	return register_kprobes((struct kprobe **)all, num);
}

static void unregister_one(struct abused *a)
{
	if (a->type == KRETPROBE)
		unregister_kretprobe(&a->rp);
#ifdef CONFIG_JPROBES
	else if (a->type == JPROBE)
		unregister_jprobe(&a->jp);
#endif
	else
		unregister_kprobe(&a->kp);
}

#ifdef KPROBES_TELL_COUNTS
/* The type that all of them have; KPROBE if they differ. */
static enum type type_of(struct abused **all, int num)
{
	enum type type = KPROBE;
	bool first = true;
	int i;

	for (i = 0; i < num; i++) {
		if (!all[i])
			continue;
		if (!first && all[i]->type != type)
			return KPROBE;
		type = all[i]->type;
		first = false;
	}
	return type;
}
#endif

/* Only our implementation removes probes of all types in one call. */
static void api_unregister(struct thread *t, struct abused **all, int num)
{
#ifdef KPROBES_TELL_COUNTS
	enum type type = coin(t) ? type_of(all, num) : KPROBE;

	if (as_one(t, all, num))
		unregister_one(all[0]);
	else if (type == KRETPROBE)
		unregister_kretprobes((struct kretprobe **)all, num);
#ifdef CONFIG_JPROBES
	else if (type == JPROBE)
		unregister_jprobes((struct jprobe **)all, num);
#endif
	else
		unregister_kprobes((struct kprobe **)all, num);
#else
	int i;

	for (i = 0; i < num; i++) {
		if (all[i])
			unregister_one(all[i]);
		else
			unregister_kprobe(NULL);
	}
#endif
}

static int switch_one(struct abused *a, bool on)
{
	if (a->type == KRETPROBE)
		return on ? enable_kretprobe(&a->rp) : disable_kretprobe(&a->rp);
#ifdef CONFIG_JPROBES
	if (a->type == JPROBE)
		return on ? enable_jprobe(&a->jp) : disable_jprobe(&a->jp);
#endif
	return on ? enable_kprobe(&a->kp) : disable_kprobe(&a->kp);
}

static int api_switch(struct thread *t, struct abused **all, int num, bool on)
{
	struct kretprobe **rps = (struct kretprobe **)all;
	struct kprobe **kps = (struct kprobe **)all;

	if (as_one(t, all, num))
		return switch_one(all[0], on);
	/* Both take probes of all types. */
	if (coin(t))
		return on ? enable_kretprobes(rps, num) : disable_kretprobes(rps, num);
	return on ? enable_kprobes(kps, num) : disable_kprobes(kps, num);
}

static struct abused *pick_own(struct thread *t)
{
	return t->own[rnd(t, NR_OWN)];
}

static const char *kind_name(const struct abused *a)
{
	return kinds[a->kind].name;
}

/* --------------------------------- Calls -------------------------------- */

static enum type pick_type(struct thread *t)
{
	unsigned int r = rnd(t, 16);

	if (r < 11)
		return KPROBE;
	return r < 15 || !IS_ENABLED(CONFIG_JPROBES) ? KRETPROBE : JPROBE;
}

/* Registering may check the content before it finds that the probe is registered already. */
static unsigned int wanted(const struct abused *a)
{
	if (!a->registered)
		return a->want;
	return a->scribbled ? E_INVAL | E_NOENT | E_NOMEM : E_INVAL;
}

static void do_register(struct thread *t)
{
	struct abused *a = pick_own(t);
	unsigned int want;
	int ret;

	if (a->registered && !chosen(calls_made_of, "again"))
		return;
	if (!a->registered)
		fill(t, a, pick_type(t));
	want = wanted(a);
	ret = api_register(t, &a, 1);
	called();
	if (!(bit_of(ret) & want))
		complain(&wrong, a->registered ? "registering again" : "registering",
			 kind_name(a), ret, want);
	if (a->registered)
		return;
	atomic_long_inc(&kind_calls[a->kind]);
	if (!ret) {
		a->registered = true;
		atomic_long_inc(&accepted);
		atomic_long_inc(&kind_accepted[a->kind]);
	}
}

static void do_unregister(struct thread *t)
{
	struct abused *a = pick_own(t);

	if (!a->registered && !chosen(calls_made_of, "absent"))
		return;
	if (!a->registered) {
		a->kp.addr = (void *)1;
		api_unregister(t, &a, 1);
		called();
		if (a->kp.addr)
			complain(&wrong, "unregistering", "what was not registered", 0, 0);
		return;
	}
	api_unregister(t, &a, 1);
	called();
	scrap(t, a);
}

static void do_switch(struct thread *t)
{
	struct abused *a = pick_own(t);
	unsigned int want = a->registered ? GOOD : E_INVAL;
	bool on = rnd(t, 2);
	int ret;

	if (!a->registered && !chosen(calls_made_of, "absent"))
		return;
	ret = api_switch(t, &a, 1, on);
	called();
	if (!(bit_of(ret) & want))
		complain(&wrong, "switching", kind_name(a), ret, want);
	else if (!ret)
		a->enabled = on;
}

/* A batch with gaps, registered probes, the same probe twice, and bad targets. */
static void do_register_batch(struct thread *t)
{
	unsigned int num = 1 + rnd(t, MAX_BATCH), first = rnd(t, NR_OWN), i, j, want = 0;
	struct abused *all[MAX_BATCH], *a;
	enum type type = pick_type(t);
	bool good = true, bad = rnd(t, 2);
	int ret;

	for (i = 0; i < num; i++) {
		a = t->own[(first + i) % NR_OWN];
		all[i] = a;
		if (a->registered && bad && !rnd(t, 4)) {
			want |= wanted(a);
			good = false;
			continue;
		}
		if (a->registered) {
			num = i;
			break;
		}
		/* Without this, few batches would succeed. */
		do {
			fill(t, a, type);
		} while (!bad && a->want != GOOD);
		want |= a->want & ~GOOD;
		good &= !!(a->want & GOOD);
		atomic_long_inc(&kind_calls[a->kind]);
		if (bad && i && !rnd(t, 16)) {
			all[i] = rnd(t, 2) ? NULL : all[rnd(t, i)];
			want |= E_INVAL;
			good = false;
		}
	}
	if (!num) {
		ret = api_register(t, all, -(int)rnd(t, 2) * INT_MAX);
		called();
		if (ret != -EINVAL)
			complain(&wrong, "registering", "a batch of none", ret, E_INVAL);
		return;
	}
	/* All are of the type of the first. */
	if (!all[0] || all[0]->type != type)
		return;
	if (good)
		want |= GOOD;
	ret = api_register(t, all, num);
	called();
	if (!(bit_of(ret) & want))
		complain(&wrong, "registering a batch", kind_name(all[0]), ret, want);
	if (ret) {
		/* None of them is. */
		for (i = 0; i < num; i++) {
			if (!all[i] || all[i]->registered || !chosen(calls_made_of, "absent"))
				continue;
			ret = enable_kprobe(&all[i]->kp);
			called();
			if (ret != -EINVAL)
				complain(&wrong, "enabling", "one of a failed batch", ret, E_INVAL);
		}
		return;
	}
	for (j = 0; j < num; j++) {
		all[j]->registered = true;
		atomic_long_inc(&accepted);
		atomic_long_inc(&kind_accepted[all[j]->kind]);
	}
}

static unsigned int pick_some(struct thread *t, struct abused **all)
{
	unsigned int num = 1 + rnd(t, MAX_BATCH), i;

	for (i = 0; i < num; i++)
		all[i] = rnd(t, 16) ? pick_own(t) : NULL;
	return num;
}

static void do_unregister_batch(struct thread *t)
{
	struct abused *all[MAX_BATCH];
	unsigned int num = pick_some(t, all), i, j;

	api_unregister(t, all, num);
	called();
	for (i = 0; i < num; i++) {
		if (!all[i] || !all[i]->registered)
			continue;
		/* It may be there twice. */
		for (j = i + 1; j < num; j++) {
			if (all[j] == all[i])
				all[j] = NULL;
		}
		scrap(t, all[i]);
	}
}

static void do_switch_batch(struct thread *t)
{
	struct abused *all[MAX_BATCH];
	unsigned int num = pick_some(t, all), i, want = GOOD;
	bool on = rnd(t, 2);
	int ret;

	for (i = 0; i < num; i++) {
		if (!all[i] || !all[i]->registered)
			want = E_INVAL;
	}
	ret = api_switch(t, all, num, on);
	called();
	if (!(bit_of(ret) & want))
		complain(&wrong, "switching", "a batch", ret, want);
	for (i = 0; !ret && i < num; i++)
		all[i]->enabled = on;
}

/* The user may overwrite a registered structure. */
static void do_scribble(struct thread *t)
{
	struct abused *a = pick_own(t);

	if (!a->registered)
		return;
	if (rnd(t, 2))
		memset(&a->rp, rnd(t, 2) ? 0xff : 0, sizeof(a->rp));
	else
		prandom_bytes_state(&t->rnd, &a->rp, sizeof(a->rp));
	/* But a later registration of it has to name a readable symbol. */
	a->kp.symbol_name = rnd(t, 2) ? NULL : names[PLAIN];
	a->scribbled = true;
	atomic_long_inc(&scribbles);
}

static void do_null(struct thread *t)
{
	int ret[] = {
		register_kprobe(NULL), register_kretprobe(NULL),
		enable_kprobe(NULL), disable_kprobe(NULL),
		register_kprobes(NULL, 1 + rnd(t, INT_MAX)),
		register_kretprobes(NULL, 3), enable_kprobes(NULL, 1), disable_kprobes(NULL, -1),
		enable_kretprobe(NULL), disable_kretprobe(NULL),
		enable_kretprobes(NULL, 2), disable_kretprobes(NULL, 0),
#ifdef CONFIG_JPROBES
		register_jprobe(NULL), register_jprobes(NULL, 7),
		enable_jprobe(NULL), disable_jprobe(NULL),
#endif
	};
	unsigned int i;

	unregister_kprobe(NULL);
	unregister_kretprobe(NULL);
	unregister_kprobes(NULL, 1 + rnd(t, INT_MAX));
	unregister_kretprobes(NULL, 0);
#ifdef CONFIG_JPROBES
	unregister_jprobe(NULL);
	unregister_jprobes(NULL, 5);
#endif
	for (i = 0; i < ARRAY_SIZE(ret); i++) {
		called();
		if (ret[i] != -EINVAL)
			complain(&wrong, "a call with NULL", "", ret[i], E_INVAL);
	}
}

/* Calls of a target hit its probes. */
static void do_hit(struct thread *t)
{
	unsigned int i, was[NR_OWN];
	unsigned long x = prandom_u32_state(&t->rnd);

	for (i = 0; i < NR_OWN; i++)
		was[i] = atomic_read(&t->own[i]->hits);
	for (i = 0; i < NR_TARGETS; i++) {
		if (targets[i](x) != RESULT(x))
			complain(&spoiled, "calling", names[i], 0, 0);
	}
	for (i = 0; i < NR_OWN; i++) {
		struct abused *a = t->own[i];

		if (!a->registered || !a->sure || !a->enabled)
			continue;
		if (atomic_read(&a->hits) == was[i])
			complain(&unseen, "calling", kind_name(a), 0, 0);
		else
			atomic_long_inc(&hits_seen);
	}
}

/* All threads use these at the same time, so the test can only see that nothing breaks. */
static void do_shared(struct thread *t)
{
	struct abused *a = &shared[rnd(t, NR_SHARED)];
	unsigned int want = GOOD | E_INVAL;
	int ret = 0;

	switch (rnd(t, 4)) {
	case 0:
		WRITE_ONCE(a->kp.addr, (kprobe_opcode_t *)targets[a - shared]);
		fallthrough;
	case 1:
		ret = api_register(t, &a, 1);
		break;
	case 2:
		api_unregister(t, &a, 1);
		break;
	case 3:
		ret = api_switch(t, &a, 1, rnd(t, 2));
		break;
	}
	called();
	atomic_long_inc(&shared_calls);
	if (!(bit_of(ret) & want))
		complain(&wrong, "all at once", "", ret, want);
}

/* --------------------- Where the API must not be called ------------------ */

static void refused(const char *where, const int *ret, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		called();
		if (ret[i] != -EDEADLK)
			complain(&wrong, "calling from", where, ret[i], E_DEADLK);
	}
}

#ifdef CONFIG_JPROBES
static void call_all_jprobes(const char *where)
{
	struct jprobe jp = {
		.kp.addr = (kprobe_opcode_t *)abuse_plain,
		.entry = JPROBE_ENTRY(abused_jprobe),
	};
	struct jprobe *jps[] = { &jp };
	const int ret[] = {
		register_jprobe(&jp), register_jprobes(jps, 1),
		enable_jprobe(&jp), disable_jprobe(&jp),
	};

	unregister_jprobe(&jp);
	unregister_jprobes(jps, 1);
	refused(where, ret, ARRAY_SIZE(ret));
}
#else
static void call_all_jprobes(const char *where)
{
}
#endif

/* All functions of the API. The probes are not registered before or after. */
static void call_all(const char *where)
{
	struct kprobe kp = { .addr = (kprobe_opcode_t *)abuse_plain, .pre_handler = abused_pre };
	struct kretprobe rp = { .kp.addr = (kprobe_opcode_t *)abuse_plain };
	struct kprobe *both[2] = { &kp, &rp.kp };
	struct kretprobe *rps[1] = { &rp };
	const int ret[] = {
		register_kprobe(&kp), register_kprobes(both, 2),
		enable_kprobe(&kp), disable_kprobe(&kp),
		enable_kprobes(both, 2), disable_kprobes(both, 2),
		register_kretprobe(&rp), register_kretprobes(rps, 1),
		enable_kretprobe(&rp), disable_kretprobe(&rp),
		enable_kretprobes(rps, 1), disable_kretprobes(rps, 1),
	};

	unregister_kprobe(&kp);
	unregister_kprobes(both, 2);
	unregister_kretprobe(&rp);
	unregister_kretprobes(rps, 1);
	refused(where, ret, ARRAY_SIZE(ret));
	call_all_jprobes(where);
}

/* A handler must not do anything to its own probe either, which stays as it is. */
static void call_own(const char *where, struct kprobe *kp)
{
	const int ret[] = {
		disable_kprobe(kp), enable_kprobe(kp), register_kprobe(kp),
		disable_kprobes(&kp, 1), enable_kprobes(&kp, 1),
	};

	unregister_kprobe(kp);
	unregister_kprobes(&kp, 1);
	refused(where, ret, ARRAY_SIZE(ret));
	atomic_long_inc(&own_calls);
}

static void call_own_return(const char *where, struct kretprobe *rp)
{
	const int ret[] = {
		disable_kretprobe(rp), enable_kretprobe(rp), register_kretprobe(rp),
		disable_kretprobes(&rp, 1), enable_kretprobes(&rp, 1),
	};

	unregister_kretprobe(rp);
	unregister_kretprobes(&rp, 1);
	refused(where, ret, ARRAY_SIZE(ret));
	atomic_long_inc(&own_calls);
}

/* Most hits call nothing, or the log would overflow. */
static bool handlers_call;

enum { PRE, POST, ENTRY, RETURN, NR_HANDLERS };

static atomic_long_t handler_runs[NR_HANDLERS];

static int calling_pre(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_long_inc(&handler_runs[PRE]);
	if (READ_ONCE(handlers_call)) {
		call_all("a pre-handler");
		call_own("a pre-handler, its own probe", kp);
		atomic_long_inc(&handler_calls);
	}
	return 0;
}

static void calling_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	atomic_long_inc(&handler_runs[POST]);
	if (READ_ONCE(handlers_call)) {
		call_all("a post-handler");
		call_own("a post-handler, its own probe", kp);
	}
}

static int calling_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	atomic_long_inc(&handler_runs[ENTRY]);
	if (READ_ONCE(handlers_call)) {
		call_all("the entry handler of a return probe");
		if (rp)
			call_own_return("an entry handler, its own probe", rp);
	}
	return 0;
}

static int calling_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	atomic_long_inc(&handler_runs[RETURN]);
	if (READ_ONCE(handlers_call)) {
		call_all("the handler of a return probe");
		if (rp)
			call_own_return("the handler of a return probe, its own probe", rp);
	}
	return 0;
}

static struct kprobe caller = {
	.addr = (kprobe_opcode_t *)abuse_from_handlers,
	.pre_handler = calling_pre,
	.post_handler = calling_post,
};

static struct kretprobe returning_caller = {
	.kp.addr = (kprobe_opcode_t *)abuse_from_handlers,
	.handler = calling_return,
	.entry_handler = calling_entry,
	.maxactive = 100,
};

static void do_in_handler(struct thread *t)
{
	if (abuse_from_handlers(1) != RESULT(1ul))
		complain(&spoiled, "calling", "what calls in its handlers", 0, 0);
}

/* All that the handlers have tried has left their probes registered, and switched on. */
static void callers_work(void)
{
	static const char *const handlers[NR_HANDLERS] = {
		[PRE] = "pre", [POST] = "post", [ENTRY] = "entry", [RETURN] = "return",
	};
	long was[NR_HANDLERS];
	unsigned int i;

	for (i = 0; i < NR_HANDLERS; i++)
		was[i] = atomic_long_read(&handler_runs[i]);
	do_in_handler(NULL);
	for (i = 0; i < NR_HANDLERS; i++) {
		if (atomic_long_read(&handler_runs[i]) == was[i])
			complain(&unseen, "a handler that calls", handlers[i], 0, 0);
	}
}

static DEFINE_SPINLOCK(a_lock);

static void call_in_irq(struct irq_work *work)
{
	call_all("an interrupt");
	atomic_long_inc(&irq_calls);
}

static void do_in_atomic(struct thread *t)
{
	DEFINE_IRQ_WORK(work, call_in_irq);
	unsigned long flags;

	switch (rnd(t, 4)) {
	case 0:
		irq_work_queue(&work);
		irq_work_sync(&work);
		return;
	case 1:
		local_irq_save(flags);
		call_all("interrupts off");
		local_irq_restore(flags);
		break;
	case 2:
		local_bh_disable();
		call_all("softirqs off");
		local_bh_enable();
		break;
	case 3:
		spin_lock(&a_lock);
		/* Without a preemption count, kprobes cannot tell. */
		if (IS_ENABLED(CONFIG_PREEMPT_COUNT))
			call_all("a spinlock");
		spin_unlock(&a_lock);
		break;
	}
	atomic_long_inc(&atomic_calls);
}

/* --------------------------------- A run -------------------------------- */

static const struct {
	const char *name;
	void (*call)(struct thread *t);
	unsigned int weight;
} call_kinds[] = {
	{ "register", do_register, 30 },
	{ "unregister", do_unregister, 16 },
	{ "switch", do_switch, 12 },
	{ "register_batch", do_register_batch, 6 },
	{ "unregister_batch", do_unregister_batch, 5 },
	{ "switch_batch", do_switch_batch, 4 },
	{ "scribble", do_scribble, 4 },
	{ "null", do_null, 1 },
	{ "hit", do_hit, 16 },
	{ "shared", do_shared, 6 },
	{ "in_handler", do_in_handler, 1 },
	{ "in_atomic", do_in_atomic, 1 },
};

static unsigned int weight_of_call(unsigned int i)
{
	return chosen(calls_made_of, call_kinds[i].name) ? call_kinds[i].weight : 0;
}

static void call_one(struct thread *t)
{
	unsigned int sum = 0, i, r;

	for (i = 0; i < ARRAY_SIZE(call_kinds); i++)
		sum += weight_of_call(i);
	r = rnd(t, sum);
	for (i = 0; r >= weight_of_call(i); i++)
		r -= weight_of_call(i);
	call_kinds[i].call(t);
}

static int abuse_thread(void *data)
{
	struct thread *t = data;
	struct abused *all[NR_OWN];
	unsigned int i, nr = 0;

	while (more()) {
		call_one(t);
		cond_resched_tasks_rcu_qs();
	}
	for (i = 0; i < NR_OWN; i++) {
		if (t->own[i]->registered || chosen(calls_made_of, "absent"))
			all[nr++] = t->own[i];
	}
	api_unregister(t, all, nr);
	for (i = 0; i < NR_OWN; i++)
		t->own[i]->alive = 0;
	atomic_dec(&running);
	return threads_stay();
}

static void share(bool begin)
{
	struct abused *all[NR_SHARED];
	unsigned int i;

	for (i = 0; i < NR_SHARED; i++) {
		all[i] = &shared[i];
		if (!begin)
			continue;
		memset(&shared[i], 0, sizeof(shared[i]));
		shared[i].type = i % 2 ? KRETPROBE : KPROBE;
		shared[i].alive = POISON;
		shared[i].kp.addr = (kprobe_opcode_t *)targets[i];
		if (i % 2)
			shared[i].rp.handler = abused_return;
		else
			shared[i].kp.pre_handler = abused_pre;
	}
	if (begin || !chosen(calls_made_of, "shared"))
		return;
	api_unregister(NULL, all, NR_SHARED);
	for (i = 0; i < NR_SHARED; i++)
		shared[i].alive = 0;
}

static void threads_free(struct thread *all, unsigned int nr)
{
	unsigned int n, i;

	for (n = 0; all && n < nr; n++) {
		for (i = 0; i < NR_OWN; i++)
			kfree(all[n].own[i]);
	}
	vfree(all);
}

static struct thread *threads_alloc(unsigned int nr)
{
	struct thread *all = vcalloc(nr, sizeof(*all));
	unsigned int n, i;

	for (n = 0; all && n < nr; n++) {
		for (i = 0; i < NR_OWN; i++) {
			all[n].own[i] = kzalloc(sizeof(*all[n].own[i]), GFP_KERNEL);
			if (!all[n].own[i]) {
				threads_free(all, nr);
				return NULL;
			}
		}
	}
	return all;
}

static int run_threads(unsigned long seed)
{
	struct threads threads;
	struct thread *all;
	unsigned int nr, n;
	int ret;

	cpus_read_lock();
	nr = 2 * num_online_cpus();
	all = threads_alloc(nr);
	ret = threads_init(&threads, nr);
	for (n = 0; !ret && all && n < nr; n++) {
		prandom_seed_state(&all[n].rnd, seed * 1000 + n);
		atomic_inc(&running);
		ret = threads_add(&threads, abuse_thread, &all[n],
				  cpumask_nth(n / 2, cpu_online_mask), "kpa/%u");
		if (ret) {
			atomic_dec(&running);
			break;
		}
	}
	cpus_read_unlock();
	while (atomic_read(&running)) {
		WRITE_ONCE(handlers_call, !handlers_call);
		msleep(100);
	}
	WRITE_ONCE(handlers_call, false);
	threads_stop(&threads);
	threads_free(all, nr);
	return all ? ret : -ENOMEM;
}

static int run(unsigned long nr, unsigned long seed)
{
	int ret;

	WRITE_ONCE(said, 0);
	WRITE_ONCE(quota, atomic_long_read(&calls_made) + nr);
	ret = register_kprobe(&caller);
	if (ret)
		return ret;
	ret = register_kretprobe(&returning_caller);
	if (!ret) {
		share(true);
		ret = run_threads(seed);
		share(false);
		callers_work();
		unregister_kretprobe(&returning_caller);
	}
	unregister_kprobe(&caller);
	caller.addr = (kprobe_opcode_t *)abuse_from_handlers;
	returning_caller.kp.addr = (kprobe_opcode_t *)abuse_from_handlers;
	return ret;
}

/* ------------------------------- Results -------------------------------- */

/* After all this, a probe on each target still works. */
static unsigned int still_works(void)
{
	unsigned int i, good = 0;

	for (i = 0; i < NR_TARGETS; i++) {
		struct abused a = {
			.kp = { .addr = (kprobe_opcode_t *)targets[i], .pre_handler = abused_pre },
			.alive = POISON,
		};

		if (register_kprobe(&a.kp))
			continue;
		good += targets[i](5) == RESULT(5ul) && atomic_read(&a.hits) == 1;
		unregister_kprobe(&a.kp);
		good += targets[i](6) == RESULT(6ul) && atomic_read(&a.hits) == 1;
	}
	return good;
}

static int result_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	mutex_lock(&lock);
	seq_printf(m, "calls %ld\naccepted %ld\nhits %ld\n", atomic_long_read(&calls_made),
		   atomic_long_read(&accepted), atomic_long_read(&hits_seen));
	seq_printf(m, "in_handlers %ld\nin_atomic %ld\nin_interrupts %ld\n",
		   atomic_long_read(&handler_calls), atomic_long_read(&atomic_calls),
		   atomic_long_read(&irq_calls));
	seq_printf(m, "scribbles %ld\nfreed %ld\nshared %ld\n", atomic_long_read(&scribbles),
		   atomic_long_read(&freed), atomic_long_read(&shared_calls));
	seq_printf(m, "on_own_probes %ld\n", atomic_long_read(&own_calls));
	seq_printf(m, "wrong %ld\nlate %ld\nunseen %ld\nspoiled %ld\n",
		   atomic_long_read(&wrong), atomic_long_read(&late),
		   atomic_long_read(&unseen), atomic_long_read(&spoiled));
	seq_printf(m, "works %u\n", still_works());
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].weight)
			seq_printf(m, "kind %s %ld %ld\n", kinds[i].name,
				   atomic_long_read(&kind_calls[i]),
				   atomic_long_read(&kind_accepted[i]));
	}
	show_left(m);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

/* Does not take the lock: a run holds it. */
static int calls_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%ld\n", atomic_long_read(&calls_made));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(calls);

static ssize_t run_write(struct file *file, const char __user *ubuf, size_t count,
			 loff_t *ppos)
{
	unsigned long nr, seed;
	char buf[64];
	int ret;

	ret = copy_text(buf, sizeof(buf), ubuf, count);
	if (ret)
		return ret;
	if (sscanf(buf, "%lu %lu", &nr, &seed) != 2)
		return -EINVAL;
	mutex_lock(&lock);
	ret = run(nr, seed);
	mutex_unlock(&lock);
	return ret ? : count;
}
DEFINE_WRITE_ATTRIBUTE(run);

/* Places where probes are allowed come first. */
static int add_place(char *line)
{
	struct place p = { };

	if (nr_places == MAX_PLACES)
		return -ENOSPC;
	if (sscanf(line, "%15s %lx %lx", p.kind, &p.addr, &p.size) != 3 || !p.size)
		return -EINVAL;
	if (!strcmp(p.kind, "text")) {
		places[nr_places++] = places[nr_texts];
		places[nr_texts++] = p;
	} else {
		places[nr_places++] = p;
	}
	return 0;
}

DEFINE_WRITE_ATTRIBUTE_BY(places, write_lines, &lock, add_place);

static void free_memory(void)
{
	if (HAS_BPF && prog)
		bpf_prog_destroy(prog);
	vfree(vmalloced);
	kfree(kmalloced);
}

static int __init alloc_memory(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog_kern fprog = { .len = ARRAY_SIZE(filter), .filter = filter };

	kmalloced = kzalloc(PAGE_SIZE, GFP_KERNEL);
	vmalloced = vzalloc(2 * PAGE_SIZE);
	vfreed = vmalloc(PAGE_SIZE);
	vfree(vfreed);
	if (!kmalloced || !vmalloced || (HAS_BPF && bpf_prog_create(&prog, &fprog))) {
		free_memory();
		return -ENOMEM;
	}
	/* A symbol that is too long, see aim_no_symbol(). */
	memset(vmalloced, 'x', 2 * PAGE_SIZE - 1);
	return 0;
}

static int __init kprobe_abuse_init(void)
{
	int ret = alloc_memory();

	if (ret)
		return ret;
	init_text = (unsigned long)kprobe_abuse_init;
	dir = control_dir(&run_fops, &result_fops);
	debugfs_create_file("begin", 0200, dir, NULL, &begin_fops);
	debugfs_create_file("places", 0200, dir, NULL, &places_fops);
	debugfs_create_file("calls", 0400, dir, NULL, &calls_fops);
	return 0;
}

static void __exit kprobe_abuse_exit(void)
{
	debugfs_remove(dir);
	free_memory();
}

module_init(kprobe_abuse_init);
module_exit(kprobe_abuse_exit);

MODULE_DESCRIPTION("Kprobes test: all wrong calls of the API");
MODULE_LICENSE("GPL");
