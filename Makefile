# SPDX-License-Identifier: GPL-2.0
# A thin layer: the scripts in tools/testing/kprobes/ do the work of each target.

CONFIG ?= x86_64
T := tools/testing/kprobes
export CONFIG SYMBOL OFFSET TEST PARTS MINUTES SCENARIO MUTANT DEB_CONFIG
# A kernel is built once, for one CONFIG. These choose it themselves.
apart := $(filter run gcov test-clients,$(MAKECMDGOALS))
ifneq ($(and $(apart),$(filter-out $(firstword $(apart)),$(MAKECMDGOALS))),)
$(error make $(firstword $(apart)) builds a kernel of its own: give it no other target)
endif
ifneq ($(and $(filter gcov,$(MAKECMDGOALS)),$(filter-out x86_64 i386,$(CONFIG))),)
$(error make gcov counts the lines of CONFIG=x86_64 or CONFIG=i386, not of $(CONFIG))
endif
# A shell for kernel builds may have set it. That is not about these tests.
ifeq ($(origin ARCH),environment)
ARCH :=
unexport ARCH
endif
ifeq ($(origin ARCH),command line)
ifneq ($(filter-out test ftracetest,$(MAKECMDGOALS)),)
$(error ARCH= is for make test and make ftracetest only: all other targets are for x86)
endif
endif

# Guests end when this make does, however it ends.
export KPROBES_OWNER := $(shell echo $$PPID)

# Packages that these goals need are checked before anything is built, see tree.sh. The
# self-test checks that all goals that boot a guest are listed here.
guests := run test stress abuse slots execute test-everything torture soak survive mutants \
	shell ftracetest kselftest test-clients icount bench coverage gcov test-configs test-debug \
	deb-check
export KPROBES_NEEDS := \
	$(if $(filter-out help tree series series-check expect runs clean,$(MAKECMDGOALS)),build) \
	$(if $(ARCH),,$(if $(filter $(guests),$(MAKECMDGOALS)),guest)) \
	$(filter test-everything kselftest,$(MAKECMDGOALS))

help:
	@sed -n 's/^#: //p' Makefile

#: make run      probe a live function of a running kernel and show what happens
#:               (SYMBOL=name and OFFSET=bytes choose another function; builds a
#:               small kernel, unless the default one is there or CONFIG= is given)
#: make test     all tests, ends with "N passed, N failed" (TEST=glob: only those; QUICK=1
#:               with it: each of them once)
#: make expect   take the list of tests that must run from the latest make test
#: make stress   the stress test alongside a compile job (MINUTES=30, KERNEL=stock-x86_64)
#: make abuse    wrong calls of the API, and wrong definitions of events and of perf, on 8 CPUs
#:               (CALLS=1000000, SEED=n, CPUS=8; MINUTES=60: rounds for so long, CONFIG=debug)
#: make slots    disassemble what a guest has generated, for each kind of thunk (PROBES=3000)
#: make execute  instructions with and without probes: registers, flags, memory, faults
#:               (NR=150000 encodings, SEED=1)
#: make test-everything  a probe on every instruction of the kernel and of modules, in
#:               windows, under a workload (MINUTES=20; resumes where it stopped)
#: make torture  probes in all contexts; counts must be right (MINUTES=3 for each scenario,
#:               SCENARIO="one eight": only those of tools/testing/kprobes/torture/)
#: make soak     torture, abuse, random events and other stress tests, at once (MINUTES=30)
#: make survive  which wrong calls and torture stock survives, next to ours (ROWS="glob...")
#: make mutants  do the tests notice broken code? Applies tools/testing/kprobes/mutants/
#:               one by one (MUTANT=glob, MINUTES=60; resumes where it stopped;
#:               CONFIG=i386, arm64, arm or s390x: in what x86_64 does not build)
#: make test ARCH=name  the KUnit suites on another architecture: arm64 riscv64
#:               s390x ppc64le ppc64 arm mips sparc64 sh parisc; built only: arc
#: make test-arches     all of these, a line each
#: make test-configs    the KUnit suites on kernels that differ in what kprobes depend on
#:               (MINUTES=60; resumes where it stopped)
#: make test-builds     our files and all users of kprobes compile without warnings, in
#:               allnoconfig, tinyconfig, defconfig, allmodconfig and 20 of randconfig,
#:               for x86_64, i386 and arm64, each with and without KPROBES (MINUTES=60;
#:               resumes where it stopped; BUILDS="arm64-* *-tinyconfig-n": only these, AGAIN=1)
#: make test-debug      all tests on the kernels that watch for errors: KASAN, UBSAN, lockdep,
#:               KCSAN, KFENCE, kmemleak, tracers (MINUTES=120; KERNELS="rt kcsan debug":
#:               only these; AGAIN=1: also what has already passed)
#: make tree     prepare build/linux: Linux 6.12 with our kprobes instead of its own
#: make kernel   build it
#: make stock    build the base with the same config, for comparison
#: make shell    a root shell in a guest that runs our kernel (APPEND=, QEMU_ARGS=,
#:               GUEST_FILES=directory: its files are in the guest's root)
#: make ftracetest  the ftrace project's own kprobe tests in a guest
#: make ftracetest ARCH=name  the same on stock and on ours, a table: arm64 s390x x86_64
#: make kselftest  the guest tests as kselftests, in a guest on this machine's root
#: make test-clients  perf, bpftrace, bcc, trace-cmd and others, ours next to stock
#:               (CLIENTS="perf bpftrace.stack_*": only those; resumes where it
#:               stopped, AGAIN=1: all)
#: make icount   what a hit costs in guest instructions, ours next to stock
#: make bench    all figures, ours next to stock: a table, JSON and a chart
#:               (PARTS="icount crowd memory events cpus coverage": only those)
#: make coverage  the share of all instructions that can be probed with a jump
#: make gcov      the share of our lines that the tests execute (CONFIG=i386: those of 32 bits)
#: make lint     checkpatch, sparse, W=1 and kernel-doc on our files; silent if clean
#: make series   our changes as patches against the base, into build/series/
#: make series-check  do they apply, build at each patch, and give the tree we build?
#:               (RANGE=nobuild: without building)
#: make deb      a kernel package for a real machine (DEB_CONFIG=: from that .config)
#: make deb-check  make a small package, boot it with Debian's systemd (as root)
#: make runs     the latest run of each target that counts: when, which commit, how long
#: make compile_commands  compile_commands.json for editors, for the files here
#: make clean    remove build/
#: CONFIG=name   another kernel: one of tools/testing/kprobes/configs/ (default x86_64)
#: KPROBES_BASE=path     another Linux 6.12 to start from: an archive, a git or a source tree
#: KPROBES_INSTALL=0  list missing packages instead of installing them
#: EMULATOR_PATCHES=0  kernels and guests without the change that QEMU up to 8.0 needs

tree:
	@$(T)/tree.sh

kernel: tree
	@$(T)/kernel.sh

stock:
	@$(T)/tree.sh stock
	@$(T)/kernel.sh stock

# The default kernel if it exists or CONFIG= asks for it; otherwise the small one, which
# is built in half the time.
run: export CONFIG := $(if $(filter-out file,$(origin CONFIG))$(wildcard build/x86_64/vmlinux),$(CONFIG),run)
run: run-offset kernel
	@$(T)/run.sh

# Check OFFSET= before building anything.
run-offset:
	@$(T)/run.sh --check

ifdef ARCH
test: test-arch-name tree
	@$(T)/test-arch.sh $(ARCH)
else
test: test-names kernel
	@$(T)/test.sh
endif

# Check TEST= before building anything.
test-names:
	@$(T)/test.sh --check

# Check PARTS= before building anything.
bench-parts:
	@$(T)/bench.sh --check

# Check ARCH= before unpacking the base.
test-arch-name:
	@$(T)/test-arch.sh --check "$(ARCH)"

test-arches: tree
	@$(T)/test-arch.sh all

test-configs: tree
	@$(T)/test-configs.sh

test-builds: tree
	@$(T)/test-builds.sh

test-debug: tree
	@$(T)/test-debug.sh

expect:
	@$(T)/expect.sh

stress: kernel
	@$(T)/stress.sh

abuse: kernel
	@$(T)/abuse.sh

slots: kernel
	@$(T)/slots.sh

execute: kernel
	@$(T)/execute.sh

test-everything: kernel
	@$(T)/everything.sh

torture: kernel
	@$(T)/torture.sh

soak: kernel
	@$(T)/soak.sh

survive: kernel stock
	@$(T)/survive.sh

mutants: kernel
	@$(T)/mutants.sh

shell: kernel
	@$(T)/shell.sh

ifdef ARCH
ftracetest: tree
	@$(T)/tree.sh stock
	@$(T)/ftracetest.sh arch $(ARCH)
else
ftracetest: kernel
	@$(T)/ftracetest.sh
endif

kselftest: kernel
	@$(T)/kselftest.sh $(TEST)

# Only these need debug information.
test-clients: CONFIG = clients
test-clients: test-clients-names kernel stock
	@$(T)/clients.sh $(CLIENTS)

# Check CLIENTS= and the packages before building anything.
test-clients-names:
	@$(T)/tree.sh stock
	@$(T)/clients.sh --check $(CLIENTS)

icount: kernel stock
	@$(T)/icount.sh

patched:
	@$(T)/tree.sh patched
	@$(T)/kernel.sh patched

bench: bench-parts kernel stock patched
	@$(T)/bench.sh $(if $(MARKDOWN),--markdown)

coverage: kernel
	@$(T)/coverage.sh

gcov: override CONFIG := $(if $(filter i386,$(CONFIG)),gcov32,gcov)
gcov: kernel
	@$(T)/gcov.sh

lint:
	@$(T)/lint.sh

deb-check:
	@$(T)/deb.sh check

deb:
	@$(T)/deb.sh

runs:
	@$(T)/runs.sh

compile_commands: kernel
	@$(T)/compile_commands.sh

series:
	@$(T)/series.sh

series-check:
	@$(T)/series.sh check $(RANGE)

clean:
	rm -rf build

.PHONY: help tree kernel stock patched run run-offset test test-names test-arch-name test-arches test-configs test-builds test-debug expect stress abuse slots execute test-everything torture soak survive mutants shell ftracetest kselftest test-clients test-clients-names icount bench bench-parts coverage gcov lint deb deb-check runs compile_commands series series-check clean
# The scripts do their own parallel building.
.NOTPARALLEL:
