# SPDX-License-Identifier: GPL-2.0
# Checks the code of copies and detours, see slots.sh:
#
#   slots.py BITS HOW PROBES TEXT INSNS SYMBOLS
#
# objdump gives the second opinion on the instructions. The rules:
#
#   1. The code decodes, up to breakpoints that fill the rest.
#   2. A branch leads to an instruction: in the same slot; at the start of a function, or its
#      second instruction, since the first is an ENDBR, which direct calls skip, or the code
#      in its padding that counts calls; or in the kernel's text, but not in the bytes that a
#      jump replaces. A detour continues after these bytes, even if the displaced instructions
#      end in a return. The jump at the end of a copy leads to the instruction after the
#      original.
#   3. With retpolines there is no indirect branch.
#   4. With return thunks there is no return, with one exception: where calls are counted, a
#      return may go through the return stack buffer as in a retpoline, as its call was not counted.
#   5. If calls are counted, each call of a function is, unless it skips a breakpoint.
#   6. After an indirect jump or a return there is a breakpoint, which stops speculation.
#   7. No indirect branch may come in, or go where IBT does not allow it: there is no ENDBR at
#      any byte, and no NOTRACK. (SDM Vol. 1, 18.3, "Indirect Branch Tracking")
import re
import subprocess
import sys
import tempfile

bits = int(sys.argv[1])
how, wanted_probes, text_file, insns_file, symbols_file = sys.argv[2:7]

with open(insns_file) as f:
    insns = {int(line.split()[0], 16) for line in f}
name_of, starts = {}, set()
with open(symbols_file) as f:
    for line in f:
        word = line.split()
        if len(word) == 3 and word[1] in 'tTwW':
            starts.add(int(word[0], 16))
            name_of.setdefault(int(word[0], 16), word[2])

slots, vulnerable, counts, ended = [], {}, {}, False
with open(text_file) as f:
    for line in f:
        word = line.split()
        if not word:
            continue
        if word[0] in ('copy', 'detour'):
            slots.append((word[0], int(word[1], 16), int(word[2], 16), int(word[3]),
                          bytes.fromhex(word[4])))
        elif word[0] == 'vulnerability':
            vulnerable[word[1]] = ' '.join(word[2:])
        elif word[0] == 'function':
            starts.add(int(word[1], 16))
        elif word[0] in ('probes', 'jumps'):
            counts[word[0]] = int(word[1])
        elif word[0] == 'end':
            ended = True

retpolines = 'Retpolines' in vulnerable.get('spectre_v2', '')
counted = 'Stuffing' in vulnerable.get('retbleed', '')
thunks = counted or 'thunk' in vulnerable.get('retbleed', '') or \
    'return thunks' in vulnerable.get('indirect_target_selection', '')

bad = []
# The distance from a function back to the code that counts calls, see callthunks.c.
CALL_THUNK = 9


def starts_at(to):
    return to in starts or (bits == 64 and to - 4 in starts) or (counted and to + CALL_THUNK in starts)


def complain(slot, at, what):
    bad.append('%s at %x of %x, at %x: %s' % (slot[0], slot[1], slot[2], at, what))


# objdump takes one file: put all slots into it, each at its own address.
GAP = 64
blob, where = bytearray(), []
for slot in slots:
    code = slot[4]
    if slot[0] == 'copy':
        # The original's length, and a jump or a breakpoint.
        code = code[:slot[3] + 5] if code[slot[3]:slot[3] + 1] == b'\xe9' else code[:slot[3] + 1]
    code = code.rstrip(b'\xcc') if slot[0] == 'detour' else code
    where.append((len(blob), len(code)))
    blob += code + b'\xcc' * GAP
with tempfile.NamedTemporaryFile() as f:
    f.write(blob)
    f.flush()
    dump = subprocess.run(['objdump', '-D', '-b', 'binary', '-m', 'i386:x86-64' if bits == 64 else 'i386',
                           '--insn-width=16', '-z', f.name], capture_output=True, text=True, check=True).stdout

line_re = re.compile(r'^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t(.*)$')
decoded = {}
for line in dump.split('\n'):
    m = line_re.match(line)
    if m:
        decoded[int(m.group(1), 16)] = (len(m.group(2).split()), m.group(3).strip())

# Branches to the same slot are relative to the start of the file.
direct_re = re.compile(r'^(?:bnd |cs |ds |notrack )*(call|jmp|j[a-z]+|loop[a-z]*)q? +0x([0-9a-f]+)$')
indirect_re = re.compile(r'^(?:bnd |notrack |cs |ds )*(call|jmp)q? +\*')
return_re = re.compile(r'^(?:repz |bnd |cs )*ret')
branches = calls = indirect = nr_insns = 0

for slot, (start, length) in zip(slots, where):
    kind, slot_at, orig, total = slot[:4]
    endbr = re.search(b'\xf3\x0f\x1e[\xfa\xfb]', slot[4])
    if endbr:
        complain(slot, slot_at + endbr.start(), 'an ENDBR')
    at, inside, code = start, {}, []
    while at < start + length:
        if at not in decoded or '(bad)' in decoded[at][1]:
            complain(slot, slot_at + at - start, 'is no instruction')
            break
        n, what = decoded[at]
        code.append((slot_at + at - start, n, what))
        inside[slot_at + at - start] = what
        at += n
    previous = ''
    nr_insns += len(code)
    for i, (at, n, what) in enumerate(code):
        m = direct_re.match(what)
        after = at + n
        ends = False
        if m:
            branches += 1
            to = slot_at + int(m.group(2), 16) - start & (1 << bits) - 1
            name = name_of.get(to, '')
            if m.group(1) == 'call':
                calls += 1
            if to in inside:
                pass
            elif kind == 'copy' and after == code[-1][0] + code[-1][1]:
                if to != orig + total:
                    complain(slot, at, 'a copy goes on at %x' % to)
            elif kind == 'detour' and to == orig + total:
                pass
            elif starts_at(to):
                pass
            elif m.group(1) == 'call':
                complain(slot, at, 'calls %x, where no function is' % to)
            elif to not in insns:
                complain(slot, at, 'goes to %x, where no instruction is' % to)
            elif kind == 'detour' and orig < to < orig + total:
                complain(slot, at, 'goes to %x, which the jump replaces' % to)
            if m.group(1) == 'call' and counted and to not in inside and \
                    to + CALL_THUNK not in starts and '%gs' not in previous:
                complain(slot, at, 'a call of %s that is not counted' % (name or hex(to)))
        elif indirect_re.match(what):
            indirect += 1
            ends = 'jmp' in what
            if retpolines:
                complain(slot, at, 'an indirect branch: ' + what)
        elif return_re.match(what):
            ends = True
            if thunks and not (counted and previous.startswith('lea ')):
                complain(slot, at, 'a return')
        if 'notrack' in what:
            complain(slot, at, 'is not tracked: ' + what)
        if ends and i + 1 < len(code) and code[i + 1][2] != 'int3':
            complain(slot, at, 'nothing stops speculation after ' + what)
        previous = what

copies = sum(s[0] == 'copy' for s in slots)
detours = len(slots) - copies
print('%s: %d probes, %d jumps; %d copies, %d detours, %d instructions, %d branches, %d calls, '
      '%d indirect; retpolines %d, return thunks %d, calls counted %d' %
      (how, counts.get('probes', 0), counts.get('jumps', 0), copies, detours,
       nr_insns, branches, calls, indirect,
       retpolines, thunks, counted))
for line in bad[:15]:
    print(line)
want = {'default': (True, False, False), 'off': (False, False, False), 'ITS': (None, True, False),
        'stuffing': (True, True, True)}[how]
for got, wanted, what in zip((retpolines, thunks, counted), want,
                             ('retpolines', 'return thunks', 'counted calls')):
    if wanted is not None and got != wanted:
        bad.append(what)
        print('%s: %s, wanted %s' % (what, got, wanted))
if not ended:
    print('the guest has not come to its end')
elif (counts.get('probes', 0) < 0.8 * int(wanted_probes) or
      min(copies, detours) < 0.5 * int(wanted_probes) or detours < counts.get('jumps', 0)):
    print('too few probes, copies or detours')
elif not bad:
    sys.exit(0)
sys.exit(1)
