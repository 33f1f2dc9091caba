// SPDX-License-Identifier: GPL-2.0
/*
 * What a hit, and setting and removing a probe, cost.
 *
 * Made for a guest under "-icount shift=0", where the time stamp counter
 * counts instructions: the figures are exact and repeatable. Loading prints
 * "name value" lines in the kernel log; mode chooses which:
 *
 *	sites	breakpoints if jumps are switched off (debug.kprobes-optimization),
 *		else jumps, once they have had time to settle; ftrace sites
 *	single	setting and removing one probe, waiting included
 *	many	the same hit with nr other probes set, and what it takes to set
 *		and remove those; their addresses are read from a file
 *
 * Only the public API, so that one source measures any implementation.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kernel_read_file.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/objtool.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/asm.h>
#include <asm/msr.h>

#include "kprobe_cost.h"

static char *mode = "sites";
module_param(mode, charp, 0444);

static char *prefix = "bp";
module_param(prefix, charp, 0444);
MODULE_PARM_DESC(prefix, "what to call probes inside of a function: bp or jump");

static int settle;
module_param(settle, int, 0444);
MODULE_PARM_DESC(settle, "milliseconds from setting a probe to measuring it");

static int nr = 10000;
module_param(nr, int, 0444);

static char *sites = "/sites";
module_param(sites, charp, 0444);
MODULE_PARM_DESC(sites, "file of addresses to set probes on, one a line");

#define CALLS		1000
#define ROUNDS		5

/*
 * Not an ftrace site, so a probe is a breakpoint or a jump. The instructions
 * are common ones that run anywhere, and there is room for a jump.
 */
static noinline __noclone notrace unsigned long cost_body(unsigned long x)
{
	asm volatile(".pushsection .rodata\n"
		     ".balign 8\n"
		     "kprobe_cost_site: " _ASM_PTR " .Lsite\n"
		     ".popsection\n"
		     ".Lsite:\n\t"
		     ANNOTATE_NOENDBR
		     "lea 1(%0), %0\n\t"
		     "lea 2(%0), %0\n\t"
		     "lea 3(%0), %0\n\t"
		     "lea 4(%0), %0" : "+r" (x));
	return x;
}

static noinline __noclone unsigned long cost_traced(unsigned long x)
{
	asm volatile("lea 1(%0), %0\n\t"
		     "lea 2(%0), %0\n\t"
		     "lea 3(%0), %0\n\t"
		     "lea 4(%0), %0" : "+r" (x));
	return x;
}

/* Interrupts off, so that none is counted; the least of some rounds. */
#define MEASURE(fn) ({							\
	u64 least = U64_MAX;						\
	int round, call;						\
									\
	for (round = 0; round < ROUNDS; round++) {			\
		unsigned long flags;					\
		u64 began;						\
									\
		local_irq_save(flags);					\
		began = rdtsc();					\
		for (call = 0; call < CALLS; call++)			\
			fn(call);					\
		least = min(least, rdtsc() - began);			\
		local_irq_restore(flags);				\
	}								\
	least;								\
})

static u64 body_unprobed, traced_unprobed;

static void report(const char *kind, const char *name, u64 value)
{
	pr_info("%s%s%s %llu\n", kind, *kind ? "_" : "", name, value);
}

static void report_hit(const char *kind, const char *name, u64 all, u64 unprobed)
{
	report(kind, name, div_u64(all - unprobed + CALLS / 2, CALLS));
}

static int pre(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

/* Is one time stamp one instruction? If not, no figure means anything. */
static int check_counter(void)
{
	unsigned long flags;
	u64 a, b, c;

	local_irq_save(flags);
	a = rdtsc();
	asm volatile(".rept 100; nop; .endr");
	b = rdtsc();
	asm volatile(".rept 300; nop; .endr");
	c = rdtsc();
	local_irq_restore(flags);

	if ((c - b) - (b - a) == 200)
		return 0;
	pr_err("200 instructions take %lld time stamps: boot with -icount shift=0\n",
	       (c - b) - (b - a));
	return -EINVAL;
}

static int measure_probe(const char *kind, const char *name, void *addr,
			 kprobe_pre_handler_t pre_handler,
			 kprobe_post_handler_t post_handler)
{
	struct kprobe p = {
		.addr = addr,
		.pre_handler = pre_handler,
		.post_handler = post_handler,
	};
	int err = register_kprobe(&p);

	if (err) {
		pr_err("cannot probe %pS: %pe\n", addr, ERR_PTR(err));
		return err;
	}
	if (settle)
		msleep(settle);
	if (addr == cost_traced)
		report_hit(kind, name, MEASURE(cost_traced), traced_unprobed);
	else
		report_hit(kind, name, MEASURE(cost_body), body_unprobed);
	unregister_kprobe(&p);
	return 0;
}

static int measure_return(const char *kind, void *addr)
{
	struct kretprobe rp = {
		.kp.addr = addr,
		.handler = on_return,
	};
	int err = register_kretprobe(&rp);

	if (err) {
		pr_err("cannot watch %pS: %pe\n", addr, ERR_PTR(err));
		return err;
	}
	if (settle)
		msleep(settle);
	if (addr == cost_traced)
		report_hit(kind, "return", MEASURE(cost_traced), traced_unprobed);
	else
		report_hit(kind, "return", MEASURE(cost_body), body_unprobed);
	if (rp.nmissed)
		pr_err("%d returns from %pS missed\n", rp.nmissed, addr);
	unregister_kretprobe(&rp);
	return 0;
}

static int measure_sites(void)
{
	return measure_probe(prefix, "pre", kprobe_cost_site, pre, NULL) ?:
	       measure_probe(prefix, "pre_post", kprobe_cost_site, pre, post) ?:
	       measure_return(prefix, cost_body) ?:
	       measure_probe("ftrace", "pre", cost_traced, pre, NULL) ?:
	       measure_probe("ftrace", "pre_post", cost_traced, pre, post) ?:
	       measure_return("ftrace", cost_traced);
}

/* Setting and removing a single probe, as most users do. */
static int measure_single(void)
{
	struct kprobe p = { .pre_handler = pre };
	u64 began, set = 0, removed = 0;
	int i, err;

	for (i = 0; i < 100; i++) {
		p.addr = kprobe_cost_site;
		p.flags = 0;
		began = rdtsc();
		err = register_kprobe(&p);
		set += rdtsc() - began;
		if (err)
			return err;
		began = rdtsc();
		unregister_kprobe(&p);
		removed += rdtsc() - began;
	}
	report("register", "single", div_u64(set, 100));
	report("unregister", "single", div_u64(removed, 100));
	return 0;
}

/*
 * Those addresses of the file that a probe can be set on. Tried with probes
 * that are switched off, for speed.
 */
static int find_sites(struct kprobe *probes, struct kprobe **batch)
{
	void *buf = NULL;
	unsigned long addr;
	char *line, *next;
	int err, n = 0;
	ssize_t len;

	len = kernel_read_file_from_path(sites, 0, &buf, SZ_16M, NULL,
					 READING_UNKNOWN);
	if (len < 0) {
		pr_err("cannot read %s: %pe\n", sites, ERR_PTR(len));
		return len;
	}
	((char *)buf)[len - 1] = '\0';
	next = buf;
	while (n < nr && (line = strsep(&next, "\n"))) {
		err = kstrtoul(line, 16, &addr);
		if (err)
			break;
		probes[n].addr = (kprobe_opcode_t *)addr;
		probes[n].flags = KPROBE_FLAG_DISABLED;
		probes[n].pre_handler = pre;
		batch[n] = &probes[n];
		if (!register_kprobe(&probes[n]))
			n++;
	}
	vfree(buf);
	unregister_kprobes(batch, n);
	return n;
}

static int measure_many(void)
{
	struct kprobe *probes, **batch;
	struct kprobe mine = { .addr = kprobe_cost_site, .pre_handler = pre };
	u64 began;
	int i, n, err = -ENOMEM;

	probes = vcalloc(nr, sizeof(*probes));
	batch = vcalloc(nr, sizeof(*batch));
	if (!probes || !batch)
		goto out;

	n = find_sites(probes, batch);
	err = n < 0 ? n : 0;
	if (err)
		goto out;
	if (n < nr) {
		pr_err("only %d of %d probes can be set\n", n, nr);
		err = -EINVAL;
		goto out;
	}
	for (i = 0; i < n; i++) {
		kprobe_opcode_t *addr = probes[i].addr;

		/* A struct as from a user that has never registered it. */
		probes[i] = (struct kprobe){ .addr = addr, .pre_handler = pre };
	}

	/* What was deferred so far must not run, and count, meanwhile. */
	rcu_barrier();
	msleep(1000);

	began = rdtsc();
	err = register_kprobes(batch, n);
	report("register", "batch", div_u64(rdtsc() - began, n));
	if (err)
		goto out;

	err = register_kprobe(&mine);
	if (!err) {
		report_hit(prefix, "pre_among_many", MEASURE(cost_body),
			   body_unprobed);
		unregister_kprobe(&mine);
	}

	began = rdtsc();
	unregister_kprobes(batch, n);
	report("unregister", "batch", div_u64(rdtsc() - began, n));
out:
	vfree(batch);
	vfree(probes);
	return err;
}

static int __init kprobe_cost_init(void)
{
	int err = check_counter();

	if (err)
		return err;
	body_unprobed = MEASURE(cost_body);
	traced_unprobed = MEASURE(cost_traced);
	report("", "call", div_u64(body_unprobed, CALLS));

	if (!strcmp(mode, "many"))
		return measure_many();
	if (!strcmp(mode, "single"))
		return measure_single();
	return measure_sites();
}

static void __exit kprobe_cost_exit(void)
{
}

module_init(kprobe_cost_init);
module_exit(kprobe_cost_exit);

MODULE_DESCRIPTION("What kprobes cost, in instructions");
MODULE_LICENSE("GPL");
