// SPDX-License-Identifier: GPL-2.0
/*
 * What an encoding needs in order to run in the kernel, and which encodings must not run: see
 * kprobe_execute.h. Opcode numbers are those of the Intel SDM, Vol. 2, appendix A.
 */
#include <linux/string.h>
#include <linux/unaligned.h>

#include <asm/insn.h>
#include <asm/processor-flags.h>

#include "kprobe_execute.h"

/* The kernel's decoder is not exported, so compile it again. sparse need not check it here. */
#ifndef __CHECKER__
#include "insn.c"
#include "inat.c"
#endif

#define NO_REG		(-1)

/* In the first 64 KiB, which the kernel never lets user space map. */
#define LOW_ADDRESS	0x1000

#define ARITH_FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

/* The stack pointer in all runs, the base of FS or GS, and a faulting address. */
static unsigned long exec_rsp;
static unsigned long segment_base;
static unsigned long bad_address;

void exec_fit_init(unsigned long sp, unsigned long base, void *bad)
{
	exec_rsp = sp;
	segment_base = base;
	bad_address = (unsigned long)bad;
}

/* ------------------------- Properties of encodings ----------------------- */

static bool has_prefix(const struct exec_enc *e, u8 prefix)
{
	unsigned int i;

	for (i = 0; i < e->insn.prefixes.nbytes; i++) {
		if (e->text[i] == prefix)
			return true;
	}
	return false;
}

static bool is_avx(const struct exec_enc *e)
{
	return e->insn.vex_prefix.nbytes;
}

static bool is_evex(const struct exec_enc *e)
{
	return e->insn.vex_prefix.nbytes == 4;
}

static bool is_rex2(const struct exec_enc *e)
{
	return e->insn.rex_prefix.nbytes == 2;
}

static unsigned int mod(const struct exec_enc *e)
{
	return X86_MODRM_MOD(e->insn.modrm.bytes[0]);
}

static unsigned int reg(const struct exec_enc *e)
{
	return X86_MODRM_REG(e->insn.modrm.bytes[0]);
}

static bool in_memory(const struct exec_enc *e)
{
	return e->insn.modrm.nbytes && mod(e) != 3;
}

/* Opcode numbers: 0xNN in the first map, then 0x0fNN, 0x0f38NN and 0x0f3aNN. */
static unsigned int opcode(const struct exec_enc *e)
{
	const u8 *op = e->insn.opcode.bytes;
	static const unsigned int map[] = { 0, 0x0f00, 0x0f3800, 0x0f3a00 };

	if (is_avx(e)) {
		unsigned int m = insn_vex_m_bits((struct insn *)&e->insn);

		return (m < ARRAY_SIZE(map) ? map[m] : 0x1000000 * m) | op[0];
	}
	if (is_rex2(e))
		return (insn_rex2_m_bit((struct insn *)&e->insn) ? 0x0f00 : 0) | op[0];
	switch (e->insn.opcode.nbytes) {
	case 1:
		return op[0];
	case 2:
		return op[0] << 8 | op[1];
	default:
		return op[0] << 16 | op[1] << 8 | op[2];
	}
}

/* The bits that prefixes add to register numbers: 1 B, 2 X, 4 R. */
static unsigned int extension(const struct exec_enc *e)
{
	const struct insn_field *rex = &e->insn.rex_prefix, *vex = &e->insn.vex_prefix;

	if (!IS_ENABLED(CONFIG_X86_64))
		return 0;
	if (vex->nbytes == 2)
		return ~vex->bytes[1] >> 5 & 4;
	if (vex->nbytes)
		return ~vex->bytes[1] >> 5 & 7;
	if (rex->nbytes)
		return rex->bytes[rex->nbytes - 1] & 7;
	return 0;
}

static int rm_number(const struct exec_enc *e)
{
	return X86_MODRM_RM(e->insn.modrm.bytes[0]) | (extension(e) & 1 ? 8 : 0);
}

static int reg_number(const struct exec_enc *e)
{
	return reg(e) | (extension(e) & 4 ? 8 : 0);
}

/* The index of a gather is a vector register. */
static bool is_gather(const struct exec_enc *e)
{
	unsigned int op = opcode(e);

	return is_avx(e) && in_memory(e) &&
	       ((op >= 0x0f3890 && op <= 0x0f3893) || (op >= 0x0f38a0 && op <= 0x0f38a3));
}

/* A register holds the bit's distance from the operand. */
static bool has_bit_distance(const struct exec_enc *e)
{
	if (is_avx(e) || !in_memory(e))
		return false;
	switch (opcode(e)) {
	case 0x0fa3:	/* BT */
	case 0x0fab:	/* BTS */
	case 0x0fb3:	/* BTR */
	case 0x0fbb:	/* BTC */
		return true;
	}
	return false;
}

/* ------------------------ Encodings that must not run -------------------- */

static enum exec_why why_not_0f01(const struct exec_enc *e)
{
	if (in_memory(e)) {
		/* LGDT, LIDT, LMSW */
		return reg(e) == 2 || reg(e) == 3 || reg(e) == 6 ? WHY_SYSTEM : WHY_RUNS;
	}
	switch (e->insn.modrm.bytes[0]) {
	case 0xc1:	/* VMCALL */
	case 0xd9:	/* VMMCALL */
		return WHY_HYPERVISOR;
	case 0xd1:	/* XSETBV */
	case 0xef:	/* WRPKRU */
		return WHY_SYSTEM;
	}
	return reg(e) == 6 ? WHY_SYSTEM : WHY_RUNS;
}

static enum exec_why why_not_0f(const struct exec_enc *e)
{
	bool prefix = has_prefix(e, 0x66) || has_prefix(e, 0xf2) || has_prefix(e, 0xf3);

	switch (opcode(e)) {
	case 0x0f00:	/* LLDT, LTR */
		return reg(e) == 2 || reg(e) == 3 ? WHY_SYSTEM : WHY_RUNS;
	case 0x0f01:
		return why_not_0f01(e);
	case 0x0f08:	/* INVD */
	case 0x0f22:	/* MOV to a control register */
	case 0x0f23:	/* MOV to a debug register */
	case 0x0f30:	/* WRMSR */
	case 0x0f37:	/* GETSEC */
	case 0x0f38f8:	/* MOVDIR64B, ENQCMD: write where a register points */
		return WHY_SYSTEM;
	case 0x0fa1:	/* POP FS */
	case 0x0fa9:	/* POP GS */
	case 0x0fb2:	/* LSS */
	case 0x0fb4:	/* LFS */
	case 0x0fb5:	/* LGS */
		return WHY_SEGMENT;
	case 0x0fae:
		/* WRFSBASE, WRGSBASE; UMWAIT, TPAUSE */
		if (mod(e) == 3 && has_prefix(e, 0xf3) && (reg(e) == 2 || reg(e) == 3))
			return WHY_SEGMENT;
		if (mod(e) == 3 && prefix && reg(e) == 6)
			return WHY_WAITS;
		break;
	}
	return WHY_RUNS;
}

static enum exec_why why_not_one_byte(const struct exec_enc *e)
{
	switch (opcode(e)) {
	case 0x6c ... 0x6f:	/* INS, OUTS */
	case 0xe4 ... 0xe7:	/* IN, OUT */
	case 0xec ... 0xef:
		return WHY_PORTS;
	case 0xfb:
		return WHY_INTERRUPTS;
	case 0x8e:
		return WHY_SEGMENT;
	case 0x07: case 0x17: case 0x1f:	/* POP, in 32-bit code */
	case 0xc4: case 0xc5:			/* LES, LDS */
		return IS_ENABLED(CONFIG_X86_64) ? WHY_RUNS : WHY_SEGMENT;
	case 0x62:
		return WHY_BOUND;
	}
	return WHY_RUNS;
}

/* Large operands, of FXSAVE and the like; those of the x87 are shorter. */
static bool is_large(const struct exec_enc *e)
{
	switch (opcode(e)) {
	case 0x0fae:
		return reg(e) != 2 && reg(e) != 3 && reg(e) != 7;
	case 0x0fc7:
		return reg(e) > 2;
	}
	return false;
}

static enum exec_why why_not_operand(const struct exec_enc *e)
{
	if ((e->indirect || e->varies) && !in_memory(e) && rm_number(e) == R_SP)
		return WHY_STACK_AS;
	if (!in_memory(e))
		return WHY_RUNS;
	if (e->place == BY_STACK && is_large(e))
		return WHY_LARGE;
	if (has_bit_distance(e)) {
		if (reg_number(e) == R_SP || reg_number(e) == e->base)
			return WHY_STACK_AS;
		/* BX, BP, SI, DI */
		if (e->place == BY_WORD && (reg(e) == 3 || reg(e) > 4))
			return WHY_STACK_AS;
	}
	if (e->place == BY_STACK && e->index == NO_REG &&
	    (e->segment || e->width != sizeof(long)))
		return WHY_ELSEWHERE;
	/* Registers that exist only with AVX-512 keep their values. */
	if (is_gather(e) && is_evex(e))
		return WHY_ELSEWHERE;
	return WHY_RUNS;
}

/* Does a segment have a base that cannot be compensated? */
static bool segment_in_the_way(const struct exec_enc *e)
{
	static const u8 segments[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65 };
	unsigned int i, nr = 0;

	if (!e->segment)
		return false;
	for (i = 0; i < ARRAY_SIZE(segments); i++)
		nr += has_prefix(e, segments[i]);
	/* CPUs and emulators disagree about which one counts. */
	return nr > 1 || e->width != sizeof(long) || e->place == BY_IP || e->place == BY_NUMBER;
}

/*
 * QEMU 7.2 translates these to a function that does not exist, or asserts that they do not
 * occur. CPUs raise #UD.
 */
static bool crashes_emulator(const struct exec_enc *e)
{
	unsigned int op = opcode(e), vex = e->insn.vex_prefix.bytes[2];
	bool plain = is_avx(e) ? !(vex & 3) : !has_prefix(e, 0x66);

	if (is_evex(e))
		return false;
	switch (op) {
	case 0x0fa3: case 0x0fab: case 0x0fb3: case 0x0fbb: case 0x0fba:
		return has_prefix(e, 0xf0) && mod(e) == 3;
	case 0x0fe7:	/* MOVNTQ, MOVNTDQ to a register */
		return mod(e) == 3;
	case 0x0f380c ... 0x0f380f:	/* VPERMILPS and the like */
		return plain;
	case 0x0f3a0a: case 0x0f3a0b:	/* VROUNDSS, VROUNDSD of 256 bits */
		return is_avx(e) && X86_VEX_L(vex);
	case 0x0f3a00: case 0x0f3a01:	/* VPERMQ, VPERMPD without W */
		return is_avx(e) && !X86_VEX_W(vex);
	}
	/* VEX forms of MMX */
	if (!is_avx(e) || !plain)
		return false;
	switch (op) {
	case 0x0f60 ... 0x0f76: case 0x0f7e: case 0x0f7f: case 0x0fc4: case 0x0fc5:
	case 0x0fd1 ... 0x0ffe:
	case 0x0f3800 ... 0x0f380b: case 0x0f381c ... 0x0f381e:
	case 0x0f3a0f:
		return true;
	}
	return false;
}

static enum exec_why why_not(const struct exec_enc *e)
{
	enum exec_why why = WHY_RUNS;

	if (crashes_emulator(e))
		return WHY_EMULATOR;
	/* ADCX, ADOX */
	if (!is_avx(e) && opcode(e) == 0x0f38f6)
		return WHY_FLAGS;
	if (!is_avx(e) && (opcode(e) | 1) == 0xf7 && reg(e) == 1)
		return WHY_ALIAS;
	if ((e->branch || e->indirect || e->ends) && has_prefix(e, 0xf0))
		return WHY_LOCK;
	if (segment_in_the_way(e))
		return WHY_ELSEWHERE;
	if (!is_avx(e))
		why = opcode(e) > 0xff ? why_not_0f(e) : why_not_one_byte(e);
	return why ?: why_not_operand(e);
}

/* ------------------------------- Decoding ------------------------------- */

static bool is_string(unsigned int op)
{
	return (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf);
}

/* XLAT, MASKMOVQ, MONITOR and CLZERO use what a register points to. */
static int implicit_pointer(const struct exec_enc *e)
{
	unsigned int op = opcode(e);

	if (op == 0xd7 && !is_avx(e))
		return R_BX;
	if (op == 0x0ff7)
		return R_DI;
	if (op == 0x0f01 && !is_avx(e) &&
	    (e->insn.modrm.bytes[0] == 0xc8 || e->insn.modrm.bytes[0] == 0xfa ||
	     e->insn.modrm.bytes[0] == 0xfc))
		return R_AX;
	return NO_REG;
}

static void decode_memory(struct exec_enc *e)
{
	unsigned int rm = X86_MODRM_RM(e->insn.modrm.bytes[0]);
	unsigned int sib = e->insn.sib.bytes[0];

	e->base = NO_REG;
	e->index = NO_REG;
	e->disp = e->insn.displacement.value;
	/* The displacement may be in units of the operand. */
	if (is_evex(e) && e->insn.displacement.nbytes == 1)
		e->disp = 0;
	if (!in_memory(e))
		return;
	if (e->width == 2) {
		e->place = BY_WORD;
		return;
	}
	e->place = BY_BASE;
	if (rm == 4) {
		e->index = X86_SIB_INDEX(sib) | (extension(e) & 2 ? 8 : 0);
		e->scale = X86_SIB_SCALE(sib);
		e->base = X86_SIB_BASE(sib) | (extension(e) & 1 ? 8 : 0);
		if (e->index == R_SP || is_gather(e))
			e->index = NO_REG;
		if (X86_SIB_BASE(sib) == 5 && !mod(e)) {
			e->base = NO_REG;
			e->place = BY_NUMBER;
		}
	} else if (rm == 5 && !mod(e)) {
		e->place = IS_ENABLED(CONFIG_X86_64) ? BY_IP : BY_NUMBER;
	} else {
		e->base = rm_number(e);
	}
	if (e->place != BY_BASE)
		return;
	if (e->base == R_SP) {
		e->place = BY_STACK;
		e->disp &= 0x38;
	} else if (e->base == e->index) {
		e->place = BY_SAME;
	}
}

static void decode_branch(struct exec_enc *e)
{
	unsigned int op = opcode(e);

	if (is_avx(e))
		return;
	switch (op) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
	case 0xe8: case 0xe9: case 0xeb:
	case 0x0f80 ... 0x0f8f:
		e->branch = e->insn.immediate.nbytes;
		break;
	}
	e->indirect = op == 0xff && (reg(e) == 2 || reg(e) == 4);
	e->ends = op == 0xc2 || op == 0xc3 || op == 0xe9 || op == 0xeb ||
		  (op == 0xff && reg(e) == 4);
}

static bool reads_what_varies(const struct exec_enc *e)
{
	if (is_avx(e))
		return false;
	switch (opcode(e)) {
	case 0x0f20:	/* MOV from CR3: a kernel thread runs on the page tables of the last task */
		return reg(e) == 3;
	case 0x0f31:	/* RDTSC */
	case 0x0f33:	/* RDPMC */
		return true;
	case 0x0f01:	/* RDTSCP, RDPRU */
		return e->insn.modrm.bytes[0] == 0xf9 || e->insn.modrm.bytes[0] == 0xfd;
	case 0x0fc7:	/* RDRAND, RDSEED */
		return mod(e) == 3 && reg(e) >= 6;
	}
	return false;
}

/*
 * Decode the encoding, of which only text, length and number are known. Returns false if it
 * is no instruction.
 */
bool exec_decode(struct exec_enc *e)
{
	unsigned int op;

	if (insn_decode(&e->insn, e->text, sizeof(e->text), INSN_MODE_KERN))
		return false;
	op = opcode(e);
	e->width = e->insn.addr_bytes;
	/* In a kernel thread, FS has no base on 64 bits; GS has no valid base on 32 bits. */
	e->segment = has_prefix(e, IS_ENABLED(CONFIG_X86_64) ? 0x65 : 0x64);
	e->string = !is_avx(e) && is_string(op);
	decode_memory(e);
	decode_branch(e);
	e->varies = reads_what_varies(e);
	e->why = why_not(e);
	e->runs = STATE_BAD;
	/* Addresses that are too short fault in any case. */
	if (e->width == sizeof(long) &&
	    (e->place == BY_BASE || e->place == BY_SAME || e->string ||
	     implicit_pointer(e) != NO_REG))
		e->runs = NR_STATES;
	return true;
}

/* ------------------------------- Operands ------------------------------- */

/* The offset of an operand from an aligned address. */
static unsigned int odd(const struct exec_enc *e)
{
	return e->rnd & 0x3f;
}

static unsigned long good_address(const struct exec_enc *e)
{
	if (e->width != sizeof(long))
		return LOW_ADDRESS + (e->rnd >> 8 & 0xf00);
	return (unsigned long)exec_scratch + SCRATCH_OPERAND;
}

/* The address of an operand that the text fixes. */
static unsigned long fixed_address(const struct exec_enc *e)
{
	return good_address(e) + (e->rnd & 0x40 ? odd(e) : 0);
}

/* The address of an operand that depends on registers. */
static unsigned long operand_address(const struct exec_enc *e, unsigned int state)
{
	if (state == STATE_ODD)
		return good_address(e) + odd(e);
	if (state != STATE_BAD || e->width != sizeof(long))
		return good_address(e);
	/* Not canonical on 64 bits, which raises another exception */
	if (IS_ENABLED(CONFIG_X86_64) && e->rnd & 0x80)
		return BIT(BITS_PER_LONG - 2) + odd(e);
	return bad_address + odd(e);
}

/* Index values are small. */
static unsigned long index_value(const struct exec_enc *e)
{
	return e->rnd >> 20 & 7;
}

static unsigned long index_distance(const struct exec_enc *e)
{
	return e->index == NO_REG ? 0 : index_value(e) << e->scale;
}

static const u8 *landing(const struct exec_enc *e, const u8 *site)
{
	return site + (e->rnd & 0x100 ? SITE_BACK : SITE_TAKEN);
}

/* Without a site, put 0 in place of values that depend on it or on addresses. */
static void put(const u8 *site, u8 *to, unsigned long value, unsigned int bytes)
{
	if (!site)
		value = 0;
	memcpy(to, &value, bytes);
}

/* Fit the text for an instruction at @at. The rest of the text is unchanged. */
static void fit_text(const struct exec_enc *e, const u8 *site, const u8 *at, u8 *text)
{
	struct insn *i = (struct insn *)&e->insn;
	unsigned int nr = i->displacement.nbytes;
	u8 *disp = text + insn_offset_displacement(i);
	u8 *imm = text + insn_offset_immediate(i);
	const u8 *next = at + i->length;

	if (e->place == BY_IP)
		put(site, disp, fixed_address(e) - (unsigned long)next, nr);
	else if (e->place == BY_NUMBER)
		put(site, disp, fixed_address(e) - index_distance(e), nr);
	else if (e->place == BY_BASE || e->place == BY_SAME || e->place == BY_STACK)
		memcpy(disp, &e->disp, nr);
	if (e->branch)
		put(site, imm, (unsigned long)landing(e, site) - (unsigned long)next, e->branch);
	if (is_avx(e))
		return;
	switch (opcode(e)) {
	case 0xa0 ... 0xa3:	/* MOV, of a number */
		put(site, imm, fixed_address(e) - (e->segment ? segment_base : 0), e->width);
		break;
	case 0xc2:		/* RET */
		imm[0] &= 0x78;
		imm[1] = 0;
		break;
	case 0xc8:		/* ENTER */
		imm[0] &= 0x38;
		imm[1] = 0;
		imm[2] &= 7;
		break;
	}
}

/*
 * A number that identifies the encoding without its fitted parts; with @form, also without
 * displacement and immediate operands.
 */
u64 exec_identity(const struct exec_enc *e, bool form)
{
	u8 text[MAX_INSN_SIZE] = { };
	u64 hash = 0xcbf29ce484222325ull;
	unsigned int i;

	memcpy(text, e->text, e->insn.length);
	if (form) {
		i = insn_offset_displacement((struct insn *)&e->insn);
		if (i < e->insn.length)
			memset(text + i, 0, e->insn.length - i);
	} else {
		fit_text(e, NULL, NULL, text);
	}
	for (i = 0; i < e->insn.length; i++)
		hash = (hash ^ text[i]) * 0x100000001b3ull;
	return (hash ^ e->insn.length) * 0x100000001b3ull ?: 1;
}

static void put_jump(u8 *to, const u8 *at, void (*target)(void))
{
	u32 rel = (unsigned long)target - (unsigned long)(at + 5);

	to[0] = 0xe9;
	memcpy(to + 1, &rel, sizeof(rel));
}

/* Write the site at @site, which is writable at @to. */
void exec_write_site(const struct exec_enc *e, enum exec_layout layout, u8 *site, u8 *to)
{
	static const u8 cmc = 0xf5, nop = 0x90;
	u8 *at = to + SITE_START;
	unsigned int i;

	memset(to, 0xcc, SITE_SIZE);
	put_jump(to + SITE_BACK, site + SITE_BACK, exec_exit_back);
	put_jump(to + SITE_FALL, site + SITE_FALL, exec_exit_fall);
	put_jump(to + SITE_TAKEN, site + SITE_TAKEN, exec_exit_taken);
	if (layout == AS_THIRD)
		*at++ = nop;
	if (layout != AS_FIRST)
		*at++ = cmc;
	memcpy(at, e->text, e->insn.length);
	fit_text(e, site, exec_insn_at(site, layout), at);
	at += e->insn.length;
	if (e->ends)
		return;
	/* Afterwards the carry flag is unchanged. */
	for (i = 0; i < 4; i++)
		*at++ = cmc;
	memset(at, nop, to + SITE_FALL - at);
}

static unsigned long truncated(const struct exec_enc *e, unsigned long value)
{
	return e->width == 4 ? (u32)value : value;
}

/* Keep the bits that a shorter address leaves out. */
static void set_pointer(const struct exec_enc *e, struct exec_in *in, int nr,
			unsigned long value)
{
	if (e->width == sizeof(long))
		in->gpr[nr] = value;
	else
		memcpy(&in->gpr[nr], &value, e->width);
}

/* The inverse of @n, which is odd. */
static unsigned long inverse(unsigned long n)
{
	unsigned long x = n;
	int i;

	for (i = 0; i < 6; i++)
		x *= 2 - n * x;
	return x;
}

static void fit_memory(const struct exec_enc *e, unsigned int state, struct exec_in *in)
{
	unsigned long to = operand_address(e, state), from, times = 1ul << e->scale;

	from = to - (s64)e->disp - (e->segment ? segment_base : 0);
	switch (e->place) {
	case BY_NUMBER:
		if (e->index != NO_REG)
			set_pointer(e, in, e->index, index_value(e));
		to = fixed_address(e);
		break;
	case BY_IP:
		to = fixed_address(e);
		break;
	case BY_BASE:
		if (e->index != NO_REG)
			set_pointer(e, in, e->index, index_value(e));
		set_pointer(e, in, e->base, from - index_distance(e));
		break;
	case BY_SAME:
		if (times == 1) {
			to -= from & 1;
			from -= from & 1;
			set_pointer(e, in, e->base, truncated(e, from) / 2);
		} else {
			set_pointer(e, in, e->base, from * inverse(times + 1));
		}
		break;
	case BY_STACK:
		if (e->index == NO_REG || (e->width == sizeof(long) && !e->segment)) {
			if (e->index != NO_REG)
				set_pointer(e, in, e->index, index_value(e));
			to = exec_rsp + e->disp + index_distance(e);
			break;
		}
		/* The index compensates the rest. */
		from -= exec_rsp;
		to -= from & (times - 1);
		from -= from & (times - 1);
		set_pointer(e, in, e->index, truncated(e, from) >> e->scale);
		break;
	default:
		return;
	}
	if (!e->indirect || e->width != sizeof(long) || state == STATE_BAD)
		return;
	in->word = (unsigned long *)to;
}

static unsigned long stack_word(struct exec_in *in, unsigned int nr)
{
	return in->stack[STACK_BELOW / sizeof(long) + nr];
}

static void set_stack_word(struct exec_in *in, unsigned int nr, unsigned long value)
{
	in->stack[STACK_BELOW / sizeof(long) + nr] = value;
}

/* What the instruction takes from the stack, if its value matters. */
static void fit_stack(const struct exec_enc *e, const u8 *site, struct exec_in *in)
{
	if (is_avx(e))
		return;
	switch (opcode(e)) {
	case 0x5c:	/* POP SP */
	case 0x8f:
		set_stack_word(in, 0, exec_rsp + 64);
		break;
	case 0x9d:	/* POPF */
		set_stack_word(in, 0, (stack_word(in, 0) & (ARITH_FLAGS | X86_EFLAGS_DF)) |
				      X86_EFLAGS_FIXED);
		break;
	case 0xc2:
	case 0xc3:
		set_stack_word(in, 0, (unsigned long)landing(e, site));
		break;
	case 0xc9:	/* LEAVE */
		in->gpr[R_BP] = exec_rsp + 64;
		break;
	}
}

static void fit_string(const struct exec_enc *e, unsigned int state, struct exec_in *in)
{
	unsigned long good = operand_address(e, STATE_ODD), bad = operand_address(e, state);
	bool source = e->rnd & 0x200;

	set_pointer(e, in, R_SI, (source ? bad : good) - (e->segment ? segment_base : 0));
	set_pointer(e, in, R_DI, (source ? good : bad) + 128);
	if (has_prefix(e, 0xf2) || has_prefix(e, 0xf3))
		in->gpr[R_CX] = e->rnd >> 24 & 7;
}

/* Set what @e needs at @site. @in starts with random numbers, the same in each run. */
void exec_fit(const struct exec_enc *e, const u8 *site, unsigned int state, struct exec_in *in)
{
	unsigned int op = opcode(e);
	int nr = implicit_pointer(e);
	const u8 *to = landing(e, site);

	in->gpr[R_SP] = exec_rsp;
	in->flags = (in->flags & (ARITH_FLAGS | X86_EFLAGS_DF)) | X86_EFLAGS_FIXED;
	/* User addresses are accessible with this flag only, with SMAP. */
	if (e->width != sizeof(long))
		in->flags |= X86_EFLAGS_AC;
	in->word = NULL;
	in->xmm = NO_REG;
	if (state == STATE_ODD) {
		/* Let divisions succeed, comparisons be equal, and loops end. */
		in->gpr[R_DX] = 0;
		in->gpr[R_AX] = exec_template[SCRATCH_OPERAND / sizeof(long)];
		in->gpr[R_CX] = e->rnd >> 4 & 1;
	}
	fit_stack(e, site, in);
	if (e->string)
		fit_string(e, state, in);
	if (nr != NO_REG)
		set_pointer(e, in, nr,
			    operand_address(e, state) - (e->segment ? segment_base : 0));
	if (has_bit_distance(e))
		in->gpr[reg_number(e)] = e->rnd >> 10 & 0x1ff;
	fit_memory(e, state, in);
	if (in->word)
		in->value = (unsigned long)to;
	if (e->indirect && !in_memory(e))
		in->gpr[rm_number(e)] = (unsigned long)to;
	if (is_gather(e) && e->insn.sib.nbytes)
		in->xmm = X86_SIB_INDEX(e->insn.sib.bytes[0]) | (extension(e) & 2 ? 8 : 0);
	/* The level of ENTER reads below BP. */
	if (op == 0xc8 && !is_avx(e))
		in->gpr[R_BP] = (unsigned long)exec_scratch + SCRATCH_OPERAND;
}
