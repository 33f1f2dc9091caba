# SPDX-License-Identifier: GPL-2.0
# Generates encodings of instructions for kprobe_execute.ko, see execute.sh:
#
#   execute.py BITS NR SEED FILE
#
# An encoding consists of prefixes, an opcode of some map, ModRM, SIB, displacement and
# immediate bytes. The set has all opcodes of all maps with all mandatory prefixes, each
# value of the "reg" field, and each kind of operand. The rest is chosen by a generator with
# the fixed seed SEED. The program knows neither what an opcode does nor whether it exists:
# a decoder ignores ModRM where there is none, and bytes at the end. So a record is 16 bytes:
# the length that objdump finds, or 0 if it knows no such instruction, and 15 bytes that
# start with the encoding.
#
# objdump is a second opinion on the lengths, and on what is an instruction.
import random
import re
import subprocess
import sys
import tempfile

bits, wanted, seed, path = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
rng = random.Random('%d of %d' % (seed, bits))
long = bits == 64

LEGACY = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3}
MAPS = ((), (0x0f,), (0x0f, 0x38), (0x0f, 0x3a))
MANDATORY = ((), (0x66,), (0xf3,), (0xf2,))
# How ModRM and SIB choose the operand.
REGISTER, POINTER, BYTE, WORD, SIB, SIB_BYTE, SIB_WORD, NUMBER, SIB_NUMBER, STACK = range(10)
OPERANDS = (REGISTER, POINTER, BYTE, REGISTER, WORD, SIB, NUMBER, REGISTER, SIB_BYTE, SIB_WORD,
            SIB_NUMBER, STACK)


def some(n):
    return bytes(rng.getrandbits(8) for _ in range(n))


# Small and large values: sign and size matter.
def immediates():
    return b''.join(rng.choice((some(1), some(1), b'\0', b'\x01', b'\xff', b'\x7f', b'\x80'))
                    for _ in range(8))


# ModRM and what follows it. short: addresses of 16 bits
def operand(kind, reg, short=False):
    any_rm = rng.choice((0, 1, 2, 3, 5, 6, 7))
    if kind == REGISTER:
        return bytes([0xc0 | reg << 3 | rng.randrange(8)])
    if short:
        mod = rng.randrange(3)
        rm = rng.randrange(8)
        return bytes([mod << 6 | reg << 3 | rm]) + some(1 if mod == 1 else 2 if mod == 2 or rm == 6 else 0)
    if kind == POINTER:
        return bytes([reg << 3 | rng.choice((0, 1, 2, 3, 6, 7))])
    if kind == BYTE:
        return bytes([0x40 | reg << 3 | any_rm]) + some(1)
    if kind == WORD:
        return bytes([0x80 | reg << 3 | any_rm]) + some(4)
    if kind == NUMBER:
        return bytes([reg << 3 | 5]) + some(4)
    # Without a displacement, 5 stands for no base: that is SIB_NUMBER.
    base = rng.choice((0, 1, 2, 3, 6, 7) if kind == SIB else (0, 1, 2, 3, 5, 6, 7))
    if kind == STACK:
        base = 4
        kind = rng.choice((SIB, SIB_BYTE, SIB_WORD))
    elif kind == SIB_NUMBER:
        base = 5
    sib = bytes([rng.randrange(4) << 6 | rng.randrange(8) << 3 | base])
    if kind == SIB:
        return bytes([reg << 3 | 4]) + sib
    if kind == SIB_BYTE:
        return bytes([0x44 | reg << 3]) + sib + some(1)
    if kind == SIB_WORD:
        return bytes([0x84 | reg << 3]) + sib + some(4)
    return bytes([reg << 3 | 4]) + sib + some(4)


# Cycles through the items, in a new order each time round.
def around(items):
    items = list(items)
    while True:
        rng.shuffle(items)
        yield from items


def rex():
    if not long:
        return b''
    return rng.choice((b'', b'', bytes([0x48]), bytes([0x40 | rng.getrandbits(4)])))


def opcodes(nr_map):
    for op in range(256):
        if nr_map == 0 and (op in LEGACY or op == 0x0f or (long and 0x40 <= op < 0x50)):
            continue
        if nr_map == 0 and op in (0xc4, 0xc5, 0x62, 0xd5) and long:
            continue
        if nr_map == 1 and op in (0x38, 0x3a):
            continue
        yield op


# Each opcode with each mandatory prefix, value of reg, and kind of operand.
def plain(nr_map):
    forms = [(op, prefix, reg) for op in opcodes(nr_map) for prefix in MANDATORY for reg in range(8)]
    kinds = {form: around(OPERANDS) for form in forms}
    for form in around(forms):
        op, prefix, reg = form
        yield bytes(prefix) + rex() + bytes(MAPS[nr_map]) + bytes([op]) + \
            operand(next(kinds[form]), reg) + immediates()


# Other prefixes, several of them, in any order, and repeated.
def odd():
    forms = [(m, op) for m in (0, 0, 0, 1, 1, 2, 3) for op in opcodes(m)]
    some_prefixes = sorted(LEGACY) + [0x67, 0x67, 0xf0, 0x65 if long else 0x64]
    for m, op in around(forms):
        prefix = [rng.choice(some_prefixes) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
        short = not long and 0x67 in prefix
        yield bytes(prefix) + rex() + bytes(MAPS[m]) + bytes([op]) + \
            operand(rng.choice(OPERANDS), rng.randrange(8), short) + immediates()


# The simple instructions that most of the kernel consists of.
def common():
    groups = [op for base in range(0, 0x40, 8) for op in range(base, base + 6)]
    ops = groups + [0x84, 0x85, 0x88, 0x89, 0x8a, 0x8b, 0x8d, 0x80, 0x81, 0x83, 0xc6, 0xc7, 0xf6,
                    0xf7, 0xfe, 0xff, 0x63, 0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3, 0x69, 0x6b, 0x8f,
                    0x86, 0x87, 0xff]
    ops += list(range(0x50, 0x60)) + [0x68, 0x6a, 0xa8, 0xa9] + list(range(0xb0, 0xc0))
    ops += [(0x0f, op) for op in (0xb6, 0xb7, 0xbe, 0xbf, 0xaf, 0xa3, 0xab, 0xb3, 0xbb, 0xba, 0xb0,
                                  0xb1, 0xc0, 0xc1, 0xc7, 0xa4, 0xa5, 0xac, 0xad, 0xbc, 0xbd)]
    ops += [(0x0f, op) for op in range(0x40, 0x50)] + [(0x0f, op) for op in range(0x90, 0xa0)]
    forms = [(op, prefix, kind, r) for op in ops for prefix in ((), (), (0x66,))
             for kind in OPERANDS for r in (range(4) if long else (0,))]
    for op, prefix, kind, r in around(forms):
        rx = (b'', bytes([0x48]), bytes([0x40 | rng.getrandbits(3)]),
              bytes([0x48 | rng.getrandbits(3)]))[r]
        yield bytes(prefix) + rx + bytes(op if isinstance(op, tuple) else [op]) + \
            operand(kind, rng.randrange(8)) + immediates()


# Branches and the like; what prefixes of branches mean is odd.
def branches():
    direct = [[op] for op in range(0x70, 0x80)] + [[0x0f, op] for op in range(0x80, 0x90)]
    direct += [[op] for op in (0xe0, 0xe1, 0xe2, 0xe3, 0xe8, 0xe9, 0xeb, 0xc2, 0xc3)]
    while True:
        prefix = rng.choice((b'', b'', b'', b'\x2e', b'\x3e', b'\xf2', b'\x67', b'\xf3'))
        if rng.randrange(2):
            op = bytes(rng.choice(direct)) + some(8)
        else:
            op = bytes([0xff]) + operand(rng.choice(OPERANDS), rng.choice((2, 4, 2, 4, 6)),
                                         not long and prefix == b'\x67') + some(4)
        yield prefix + rex() + op


def vex(evex):
    forms = [(m, op, pp) for m in ((1, 2, 3, 5, 6) if evex else (1, 2, 3)) for op in range(256)
             for pp in range(4)]
    kinds = around(OPERANDS)
    for m, op, pp in around(forms):
        # R X B, inverted, and the register in the prefix. 32-bit code has eight registers each.
        ext = rng.choice((7, 7, rng.randrange(8))) if long else 7
        v = rng.choice((15, rng.randrange(16) if long else 8 | rng.randrange(8)))
        w, length = rng.randrange(2), rng.randrange(2)
        if evex:
            head = [0x62, ext << 5 | 0x10 | m, w << 7 | v << 3 | 4 | pp,
                    rng.choice((0x08, rng.getrandbits(8) & (0xf7 if long else 0xff) | 0x08))]
        elif m == 1 and not w and rng.randrange(2):
            head = [0xc5, (ext & 4) << 5 | v << 3 | length << 2 | pp]
            if not long:
                head[1] |= 0xc0
        else:
            head = [0xc4, ext << 5 | m, w << 7 | v << 3 | length << 2 | pp]
        yield bytes(head) + bytes([op]) + operand(next(kinds), rng.randrange(8)) + immediates()


def rex2():
    for op in around(range(256)):
        yield bytes([0xd5, rng.getrandbits(8), op]) + operand(rng.choice(OPERANDS), rng.randrange(8)) + immediates()


SHARES = [(plain(0), 20), (plain(1), 20), (plain(2), 7), (plain(3), 6), (odd(), 10),
          (common(), 16), (branches(), 5), (vex(False), 20), (vex(True), 5)]
if long:
    SHARES.append((rex2(), 1))

known = set()
sources = around([s for s, share in SHARES for _ in range(share)])


# Returns that many new encodings.
def more(nr):
    codes = []
    while len(codes) < nr:
        code = next(next(sources))[:15].ljust(15, b'\x90')
        if code not in known:
            known.add(code)
            codes.append(code)
    return codes


# After each encoding, enough NOPs that the decoder is in step again.
SLOT = 32
LINE = re.compile(r'^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t(.*)$')
# A prefix on a line of its own belongs to the next line.
PREFIX = re.compile(r'^(?:(?:data16|addr32|addr16|lock|repn?z|rep|cs|ds|es|ss|fs|gs|'
                    r'rex(?:\.[WRXB]+)?|notrack|bnd|xacquire|xrelease) ?)+$')


# objdump takes FWAIT and an FPU instruction after it for one instruction.
def length_of_wait(code):
    at = 0
    while code[at] in LEGACY or (long and code[at] & 0xf0 == 0x40):
        at += 1
    return at + 1 if code[at] == 0x9b else 0


def lengths_of(codes):
    lengths, at_prefix = [0] * len(codes), {}
    with tempfile.NamedTemporaryFile() as f:
        for code in codes:
            f.write(code.ljust(SLOT, b'\x90'))
        f.flush()
        dump = subprocess.Popen(['objdump', '-D', '-b', 'binary', '-m',
                                 'i386:x86-64' if long else 'i386', '--insn-width=16', '-z', f.name],
                                stdout=subprocess.PIPE, text=True)
        for line in dump.stdout:
            m = LINE.match(line)
            if not m:
                continue
            n, what = len(m.group(2).split()), m.group(3).strip()
            nr, offset = divmod(int(m.group(1), 16), SLOT)
            if lengths[nr] or offset != at_prefix.get(nr, 0):
                continue
            if '(bad)' in what:
                at_prefix[nr] = -1
            elif PREFIX.match(what):
                at_prefix[nr] = offset + n
            elif offset + n <= 15:
                lengths[nr] = offset + n
        if dump.wait():
            sys.exit('objdump failed')
    return [length and (length_of_wait(code) or length) for length, code in zip(lengths, codes)]


# No CPU knows most of what objdump does not know, so a few of these are enough.
records, unknown = [], 0
while len(records) < wanted:
    codes = more(min(20000, 2 * wanted))
    for length, code in zip(lengths_of(codes), codes):
        if not length:
            unknown += 1
            if unknown % 4:
                continue
        elif code[:length] in known:
            continue
        known.add(code[:length])
        records.append(bytes([length]) + code)
with open(path, 'wb') as f:
    f.write(b''.join(records[:wanted]))
