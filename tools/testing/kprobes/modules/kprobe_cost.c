// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the cost of a hit.
 *
 * Made for a guest under "-icount shift=0", where the time stamp counter
 * counts instructions: the figures are exact and repeatable. Loading prints
 * "name value" lines in the kernel log; mode chooses which:
 *
 *	sites	breakpoints if jumps are switched off (debug.kprobes-optimization),
 *		else jumps, once they have had time to settle; ftrace sites
 *	hit	only the first of these, which is quick
 *
 * This uses the public API only, so that it measures any implementation.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/objtool.h>
#include <linux/string.h>
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

/* The same with a near branch, which other implementations treat differently. */
static noinline __noclone notrace unsigned long cost_branch(unsigned long x)
{
	asm volatile(".pushsection .rodata\n"
		     ".balign 8\n"
		     "kprobe_cost_branch: " _ASM_PTR " .Lbranch\n"
		     ".popsection\n"
		     ".Lbranch:\n\t"
		     ANNOTATE_NOENDBR
		     "jmp 1f\n"
		     "1:\t"
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

/* Interrupts are off, so that none is counted. The least of some rounds counts. */
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

static u64 body_unprobed, branch_unprobed, traced_unprobed;

static void report(const char *kind, const char *name, u64 value)
{
	pr_info("%s%s%s %llu\n", kind, *kind ? "_" : "", name, value);
}

/* What a hit of the probe at @addr adds to a call. */
static void report_hit(const char *kind, const char *name, void *addr)
{
	u64 more;

	if (addr == cost_traced)
		more = MEASURE(cost_traced) - traced_unprobed;
	else if (addr == kprobe_cost_branch)
		more = MEASURE(cost_branch) - branch_unprobed;
	else
		more = MEASURE(cost_body) - body_unprobed;
	report(kind, name, div_u64(more + CALLS / 2, CALLS));
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

/* Without -icount, time stamps do not count instructions. */
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
	report_hit(kind, name, addr);
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
	report_hit(kind, "return", addr);
	unregister_kretprobe(&rp);
	if (!rp.nmissed)
		return 0;
	pr_err("%d returns from %pS missed\n", rp.nmissed, addr);
	return -EBUSY;
}

static int measure_sites(void)
{
	return measure_probe(prefix, "pre", kprobe_cost_site, pre, NULL) ?:
	       measure_probe(prefix, "branch_pre", kprobe_cost_branch, pre, NULL) ?:
	       measure_probe(prefix, "pre_post", kprobe_cost_site, pre, post) ?:
	       measure_return(prefix, cost_body) ?:
	       measure_probe("ftrace", "pre", cost_traced, pre, NULL) ?:
	       measure_probe("ftrace", "pre_post", cost_traced, pre, post) ?:
	       measure_return("ftrace", cost_traced);
}

static int __init kprobe_cost_init(void)
{
	int err = check_counter();

	if (err)
		return err;
	body_unprobed = MEASURE(cost_body);
	branch_unprobed = MEASURE(cost_branch);
	traced_unprobed = MEASURE(cost_traced);
	report("", "call", div_u64(body_unprobed, CALLS));

	if (!strcmp(mode, "hit"))
		return measure_probe(prefix, "pre", kprobe_cost_site, pre, NULL);
	return measure_sites();
}

static void __exit kprobe_cost_exit(void)
{
}

module_init(kprobe_cost_init);
module_exit(kprobe_cost_exit);

MODULE_DESCRIPTION("What a hit of a kprobe costs, in instructions");
MODULE_LICENSE("GPL");
