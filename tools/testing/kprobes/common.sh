# SPDX-License-Identifier: GPL-2.0
# Shared by all scripts here: where things are, how to say and how to fail.
# shellcheck shell=bash disable=SC2034

# With CDPATH, cd prints where it goes. Messages that are looked for have to be in English. What
# a shell for kernel builds has set must not change what is built here.
unset CDPATH LANGUAGE "${!LC_@}" LLVM LLVM_IAS CROSS_COMPILE SUBARCH KBUILD_OUTPUT KBUILD_EXTMOD \
	KBUILD_VERBOSE KCFLAGS KAFLAGS KCPPFLAGS KCONFIG_CONFIG KCONFIG_ALLCONFIG
# In a hook, git sets these, and "git -C" of another repository obeys them.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_NAMESPACE
export LANG=C.UTF-8

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# The scripts also lie in the prepared tree, next to the kernel that they
# build; the repository is always three levels up from the original.
top=$(cd "$here/../../.." && pwd -P)
build=${KPROBES_BUILD:-$top/build}
CONFIG=${CONFIG:-x86_64}
src=$build/linux
stock_src=$build/stock/linux-source-6.12
base=${KPROBES_BASE:-/usr/src/linux-source-6.12.tar.xz}

# Kbuild takes neither.
case $top:$build in *[[:space:]]* | *:*:*) echo "kprobes: no blanks or colons in the path of the repository or build/" >&2; exit 1 ;; esac

# What was given to make is not for the builds of kernels and tools: -j, for instance.
unset MAKEFLAGS MAKEOVERRIDES MFLAGS

# What was asked for: the script, what it was given, and the variables that choose what runs.
asked=${0##*/}
asked=${asked%.sh}${*:+ $*}
for given in CONFIG KERNEL TEST QUICK KERNELS BUILDS SCENARIO MUTANT ROWS CLIENTS PARTS MINUTES CALLS \
		CPUS POINTS PROBES NR SEED SECONDS_EACH ONLY WINDOW DENSE KPROBES_BASE; do
	case $given=${!given:-} in
	*= | CONFIG=x86_64) ;;
	*) asked+=" $given=${!given}" ;;
	esac
done
runs=${KPROBES_RUNS:-$build/runs}
# The commit when it began, with a + if there were changes.
if [ -z "${KPROBES_COMMIT:-}" ]; then
	KPROBES_COMMIT=$(git -C "$top" rev-parse --short=8 HEAD 2>/dev/null) || KPROBES_COMMIT=-
	[ -z "$(git -C "$top" status --porcelain 2>/dev/null)" ] || KPROBES_COMMIT+=+
	export KPROBES_COMMIT
fi

# Guests end with the process that started all this: make, or the first script.
export KPROBES_OWNER=${KPROBES_OWNER:-$$}

# What a kernel prints only if something is wrong.
SPLATS='BUG:|(^|[^A-Z_])BUG [a-z]|WARNING:|Oops|Call [Tt]race:|turning off the locking correctness|huh, entered softirq|nobody cared|KASAN|KFENCE|UBSAN|general protection|possible recursive locking|possible circular locking|inconsistent lock state|suspicious RCU usage|INFO: rcu_|rcu: .*stall|blocked for more than|soft lockup|hard LOCKUP|scheduling while atomic|sleeping function called from invalid|Kernel panic|double fault|invalid opcode|stack segment:|unable to handle|Kernel BUG|cut here|Modules linked in:|printk messages dropped|kprobes: cannot (remove|blacklist|build|start)|on the return probe blacklist, but'

# A bug of the base, which guests with CPU hotplug may show on a slow machine: it counts its
# server for starved tasks as a task of a CPU that goes offline (sched_cpu_dying() checks before
# it stops the server).
BASE_REPORTS='Dying CPU not properly vacated'

# without_reports REGEX [END]: a console without the lines that match, and without the reports
# (from "cut here" to "end trace") that have such a line. A report may not be complete yet; with
# END, nothing more will come.
without_reports()
{
	grep -av '^$' | awk -v allow="$1" -v end="${2:-}" '
		function print_bad() { if (!good) for (i = 1; i < n; i++) print line[i]; n = 0 }
		# The next report may begin before this one has ended.
		/cut here/ { print_bad(); n = 1; good = 0 }
		n { line[n++] = $0; if ($0 ~ allow) good = 1 }
		n && !/end trace/ { next }
		n { print_bad(); next }
		$0 !~ allow { print }
		END { if (n && !(good && !end)) for (i = 1; i < n; i++) print line[i] }'
}

# splats_in CONSOLE [END]: what its kernel has complained about
splats_in() { without_reports "$BASE_REPORTS" "${2:-}" <"$1" | grep -aE "$SPLATS"; }

# What a kernel with the patches in emulator/ prints.
WRITTEN_TWICE='text patching: written twice for this emulator'

say() { printf 'kprobes: %s\n' "$*"; }
die() { printf 'kprobes: %s\n' "$*" >&2; exit 1; }

# noted COUNTS: notes what a target has counted for "make runs"
noted()
{
	[ -n "$1" ] || return 0
	mkdir -p "${runs%/*}"
	printf '%s\t%s\t%s\t%s\t%s\n' "$(date -u '+%F %R')" "$KPROBES_COMMIT" "$SECONDS" "$asked" "$1" >>"$runs" || true
}

# counted COUNTS: prints and notes it
counted() { printf '%s\n' "$1"; noted "$1"; }

# how_many NAME VALUE [LEAST]: is it a number that is large enough? Not one that a shell takes
# for an octal one.
how_many()
{
	if [[ ! $2 =~ ^(0|[1-9][0-9]*)$ ]] || ! [ "$2" -ge "${3:-1}" ] 2>/dev/null; then
		die "$1=$2: has to be a number${3:+, at least $3}"
	fi
}

# check_numbers: is what the goals take as numbers numbers? Each of them knows what is enough.
# With fewer calls or definitions, the guest's tests would want no more than 0 of some kinds.
check_numbers()
{
	local number

	for number in MINUTES CALLS FUZZ_DEFS:60 PERF_DEFS:200 SEED CPUS POINTS PROBES NR SECONDS_EACH \
			BOOT_TIMEOUT WORK_SECONDS STRESS_SECONDS TOGGLE_SECONDS RETURNS_SECONDS \
			RETURNS_TASKS RETURNS_CALLS ABUSE_CALLS:3000; do
		[[ $number == *:* ]] || number=$number:0
		declare -n value=${number%:*}
		[ -z "${value:-}" ] || how_many "${number%:*}" "$value" "${number#*:}"
	done
}

# What can be set to 1. 0 is the same as nothing.
for flag in QUICK AGAIN DENSE; do
	case ${!flag:-} in
	'' | 1) ;;
	0) printf -v $flag '' ;;
	*) die "$flag=${!flag}: has to be 1 or 0" ;;
	esac
done

# is_current NAME: a make goal builds the kernel of CONFIG. Another one of ours may be of older
# sources; those of the base do not change.
is_current()
{
	case $1 in
	"$CONFIG" | stock-* | patched-*) ;;
	*) die "KERNEL=$1 may be of older sources: make with CONFIG=$1 builds it" ;;
	esac
}

# the_kernel: set kernel to the folder of the requested kernel, which has to exist, and name
# to its name.
the_kernel()
{
	name=${KERNEL:-$CONFIG}
	kernel=$build/$name
	is_current "$name"
	[ -e "$kernel/vmlinux" ] || die "no kernel in build/$name: make kernel or make stock builds it"
}

# has_module MODULE: does that kernel have this test module?
has_module()
{
	[ -e "$kernel/kprobes-modules/$1.ko" ] || die "no $1.ko in build/$name: does it have our kprobes?"
}

# scratch: set tmp to a new folder, which goes when this ends
scratch()
{
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
}

# new_console LOG: an empty console. If the guest does not start, that of an earlier one
# must not be taken for its.
new_console()
{
	rm -f "$build/logs/$1.console"
	: >"$build/logs/$1.console"
}

# only_one WHAT: until this ends, another process that does the same with the same files fails. A
# guest that was killed takes a moment to end. The lock is not that of a guest's log.
only_one()
{
	mkdir -p "$build/logs"
	exec 6>>"$build/logs/.only-$1.lock"
	flock -w 3 6 || die "$1 is running in build/ already: wait until it has ended"
}

# need COMMAND-OR-FILE:PACKAGE...: install the packages of those that are missing. This
# looks for the commands themselves, so a tool built by hand counts, too.
need()
{
	local pair what missing=() as=() tries

	for pair; do
		what=${pair%%:*}
		case $what in
		/*) [ -e "$what" ] ;;
		*) command -v "$what" >/dev/null ;;
		esac || missing+=("${pair#*:}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
	[ "${KPROBES_INSTALL:-1}" != 0 ] ||
		die "missing packages, not installed because of KPROBES_INSTALL=0: ${missing[*]}"
	say "installing missing packages: ${missing[*]}"
	command -v apt-get >/dev/null ||
		die "missing ${missing[*]}: no apt-get here, install them by hand"
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null ||
			die "missing ${missing[*]}: run as root or install sudo"
		as=(sudo)
	fi
	mkdir -p "$build/logs"
	# A fresh machine may be installing its first updates.
	for ((tries = 60; tries--; )); do
		"${as[@]}" env DEBIAN_FRONTEND=noninteractive sh -c '
			apt-get -y install --no-install-recommends "$@" ||
			{ apt-get -y update &&
			  apt-get -y install --no-install-recommends "$@"; }' \
			apt "${missing[@]}" >"$build/logs/apt.log" 2>&1 && return
		tail -n 3 "$build/logs/apt.log" | grep -q 'Unable to .*lock' || break
		say "waiting for another apt-get or dpkg to end"
		sleep 10
	done
	tail -n 3 "$build/logs/apt.log" >&2
	! grep -q 'Unable to locate package linux-source' "$build/logs/apt.log" ||
		die "apt-get knows no linux-source-6.12: add bookworm-security to apt's sources, or give a base by KPROBES_BASE="
	die "apt-get could not install ${missing[*]}: see $build/logs/apt.log"
}

build_packages=(make:make gcc:gcc ld:binutils bc:bc bison:bison flex:flex
	/usr/include/gelf.h:libelf-dev cpio:cpio xz:xz-utils lz4:lz4 patch:patch
	ccache:ccache perl:perl python3:python3 flock:util-linux cmp:diffutils
	/usr/include/stdio.h:libc6-dev)
guest_packages=(qemu-system-x86_64:qemu-system-x86 /bin/busybox:busybox-static cpio:cpio)

everything_packages=(objdump:binutils stress-ng:stress-ng trinity:trinity ldd:libc-bin
	perl:perl sha1sum:coreutils)
kselftest_packages=(rsync:rsync setpriv:util-linux)

need_build() { need "${build_packages[@]}"; }
need_qemu() { need "${guest_packages[@]}"; }

# debian_packages ARCH DIR PACKAGE...: unpack Debian's packages for ARCH to DIR, with all that
# they depend on, unless they are there. All programs are in DIR/bin. This has a package state
# of its own, so this machine needs neither another architecture nor root. Once everything is
# unpacked, DIR gets its name, and DIR/.packages says what is in it.
debian_packages()
{
	local arch=$1 dir=$2

	shift 2
	unpacked_are "$dir" "$@" || (
		need apt-get:apt dpkg-deb:dpkg tar:tar
		mkdir -p "$build/logs"
		lock "debian-$arch"
		# Another process may have been faster.
		unpacked_are "$dir" "$@" || unpack_packages "$arch" "$dir" "$@"
	) >&2
}

# unpacked_are DIR PACKAGE...
unpacked_are() { [ "$(cat "$1/.packages" 2>/dev/null)" = "${*:2}" ]; }

unpack_packages()
{
	local arch=$1 dir=$2 new=$2.new root=$2.new/root log=$build/logs/apt-$1.log apt

	shift 2
	say "unpacking Debian's packages for $arch to build/${dir##*/}"
	rm -rf "$new"
	mkdir -p "$new/state/lists/partial" "$new/cache/archives/partial" "$root"/usr/{bin,lib,lib64}
	: >"$new/state/status"
	ln -s usr/bin usr/lib usr/lib64 "$root/"
	ln -s usr/bin "$root/sbin"
	ln -s bin "$root/usr/sbin"
	apt=(apt-get -q -y -o APT::Architecture="$arch" -o APT::Architectures="$arch"
		-o Dir::State="$new/state" -o Dir::State::status="$new/state/status"
		-o Dir::Cache="$new/cache" -o APT::Sandbox::User="$(id -un)"
		-o Acquire::Languages=none)
	# If an index is missing, it may not be one that is needed.
	if ! (set -o pipefail
	      { "${apt[@]}" update || true; } &&
	      "${apt[@]}" install --download-only --no-install-recommends "$@" &&
	      for deb in "$new"/cache/archives/*.deb; do
			dpkg-deb --fsys-tarfile "$deb" |
				tar -C "$root" -x --no-same-owner --keep-directory-symlink \
					--exclude='./usr/share/*' || exit
	      done) >"$log" 2>&1 </dev/null; then
		rm -rf "$new"
		return 1
	fi
	echo "$*" >"$root/.packages"
	rm -rf "$dir" && mv -T "$root" "$dir" && rm -rf "$new"
}

# is_static PROGRAM: it needs no other file, so a guest can run it
is_static() { ! readelf -lW "$1" 2>/dev/null | grep -q INTERP; }

# is_32bit KERNELDIR: is that kernel for x86 with 32 bits?
is_32bit() { grep -qsx CONFIG_X86_32=y "$1/.config"; }

# guest_busybox KERNELDIR: set busybox to a static one that this kernel can run. That of a
# 32-bit kernel is Debian's for i386. The machine's may be that of Debian's package busybox,
# which is not static; the two packages exclude each other.
guest_busybox()
{
	local arch=amd64

	busybox=/bin/busybox
	if is_32bit "$1"; then
		arch=i386
	elif is_static "$busybox"; then
		return
	fi
	busybox=$build/busybox-$arch/bin/busybox
	[ ! -e "$busybox" ] || return 0
	debian_packages $arch "$build/busybox-$arch" busybox-static ||
		die "no busybox for a guest: see $build/logs/apt-$arch.log, or put a static one of $arch at $busybox"
}

# guest_debian ARCH: set debian to a root with the programs that tests of the tree need, for
# a guest of that architecture of Debian's, and busybox to the one in there.
guest_debian()
{
	debian=$build/debian-$1
	debian_packages "$1" "$debian" busybox-static dash coreutils grep sed mawk findutils \
		diffutils util-linux mount kmod iputils-ping debianutils ||
		die "no programs for a guest of $1: see $build/logs/apt-$1.log"
	busybox=$debian/bin/busybox
}

# old_emulator QEMU: can it keep the translation of text that another CPU patches? Up to
# QEMU's release 8.0, one can be made while the text is being written, and then stays. One
# that is not there counts as old.
old_emulator()
{
	local version

	version=$("$1" --version 2>/dev/null |
		sed -n 's/^QEMU emulator version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
	# shellcheck disable=SC2086
	set -- ${version:-0 0}
	[ $(($1 * 100 + $2)) -lt 801 ]
}

# The changes to the base that old emulators need, for ours and stock alike: one file a line.
# They are also applied if there is no QEMU: they do nothing where they are not needed. Those of
# all architectures go by the version for x86.
# EMULATOR_PATCHES=0 leaves them out, 1 always applies them.
emulator_patches()
{
	case ${EMULATOR_PATCHES:-} in
	0) return ;;
	'') old_emulator qemu-system-x86_64 || return 0 ;;
	esac
	printf '%s\n' "$here"/emulator/*.patch
}

# emulator_version: for what is kept of runs in guests
emulator_version() { qemu-system-x86_64 --version 2>/dev/null | sed -n 1p; }

# The kernel parameters that a guest needs to know the time. On a loaded machine the timers
# that it measures its clocks with come late. It may then take the timer for broken and give
# up; or believe that the TSC, which is this machine's, is ten times slower than it is, so that
# all delays are ten times too short.
guest_time()
{
	local tool=$build/.tsc

	printf no_timer_check
	[ "$(uname -m)" = x86_64 ] || return 0
	need gcc:gcc >&2
	if [ ! "$tool" -nt "$here/tsc.c" ]; then
		gcc -O2 -o "$tool.$$" "$here/tsc.c" || return 0
		mv "$tool.$$" "$tool"
	fi
	printf ' tsc_early_khz=%s' "$("$tool")"
}

# The base is an archive, a git tree (its HEAD counts), or a clean source tree.
is_git() { [ -e "$base/.git" ]; }

# extract_base TO [FILE...]: all of it, or those of these files that it has
extract_base()
{
	local to=$1 prefix there

	shift
	mkdir -p "$to"
	if is_git; then
		[ $# -eq 0 ] || mapfile -t there < <(git -C "$base" ls-tree -r --name-only HEAD -- "$@")
		[ $# -eq 0 ] || set -- "${there[@]}"
		git -C "$base" archive HEAD -- "$@" | tar -C "$to" -xf -
	elif [ -d "$base" ]; then
		if [ -e "$base/.config" ] || [ -e "$base/include/config" ]; then
			die "$base has been used for a build: make mrproper there"
		fi
		if [ $# -eq 0 ]; then
			tar -C "$base" -cf - . | tar -C "$to" -xf -
		else
			tar -C "$base" -cf - "$@" 2>/dev/null | tar -C "$to" -xf - || true
		fi
	elif [ $# -eq 0 ]; then
		tar -C "$to" --strip-components=1 -xf "$base" ||
			die "cannot unpack $base: is it complete? apt-get install --reinstall linux-source-6.12"
	else
		# tar ends as soon as the first name has been read.
		prefix=$(tar -tf "$base" 2>/dev/null | head -n 1 || true)
		prefix=${prefix%%/*}
		# Files that only we have are not in there.
		tar -C "$to" --strip-components=1 -xf "$base" "${@/#/$prefix/}" 2>/dev/null || true
	fi
}

# need_space MEGABYTES WHAT-FOR
need_space()
{
	local free

	free=$(df -Pm "$build" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$1" ] ||
		die "disk full: $2 takes $1 MB, $build has $free MB free: make room, e.g. make clean"
}

# Take the lock on file descriptor 9, and say so if another process holds it.
lock()
{
	exec 9>"$build/.$1.lock"
	flock -n 9 && return
	say "waiting for another build of $1 to end"
	flock 9
}

# use_tree: until this ends, build/linux and the kernels built from it match the sources.
# While make mutants breaks them, no other script may build or boot them.
use_tree()
{
	[ -z "${KPROBES_MUTANTS:-}" ] || return 0
	mkdir -p "$build"
	exec 8>>"$build/.mutants.lock"
	flock -sn 8 || die "make mutants is changing build/linux: wait until it has ended, or end it"
}

# break_tree: may this script, and what it starts, change them?
break_tree()
{
	exec 8>>"$build/.mutants.lock"
	flock -n 8 || die "build/linux is in use: wait until all builds and guests of build/ have ended, or end them"
	export KPROBES_MUTANTS=1
}

# A fragment may include others: "# include NAME". test-configs.sh makes those named
# "configs-N".
fragment_lines()
{
	local file=$here/configs/$1 inc

	case $1 in
	configs-*) file=$build/configs/${1#configs-} ;;
	esac
	[ -e "$file" ] || die "no config $1: have $(cd "$here/configs" && echo *.config)"
	while read -r inc; do
		fragment_lines "$inc"
	done < <(sed -n 's/^# include //p' "$file")
	cat "$file"
}

# The options that a config asks for, one a line, the last word on each.
config_options()
{
	fragment_lines "$CONFIG.config" | awk '
		/^CONFIG_/ { name = $1; sub(/=.*/, "", name) }
		/^# CONFIG_.* is not set/ { name = $2 }
		/^(# )?CONFIG_/ { if (!(name in at)) order[++n] = name; at[name] = $0 }
		END { for (i = 1; i <= n; i++) print at[order[i]] }'
}

# check_config: is there such a config, and is its kernel for this machine?
check_config()
{
	fragment_lines "$CONFIG.config" >/dev/null || exit 1
	case $(config_arch) in
	x86_64 | i386) ;;
	*) die "CONFIG=$CONFIG: is not for x86: make test ARCH=$(config_arch)" ;;
	esac
}

# config_packages: the packages that building a kernel of CONFIG needs beside the usual ones,
# as need() has them
config_packages()
{
	local llvm

	llvm=$(config_llvm)
	[ -z "$llvm" ] || printf '%s\n' "clang-$llvm:clang-$llvm" "ld.lld-$llvm:lld-$llvm" \
		"llvm-nm-$llvm:llvm-$llvm"
	case $(config_options) in
	*CONFIG_MODULE_SIG=y*) printf '%s\n' openssl:openssl /usr/include/openssl/ssl.h:libssl-dev ;;
	esac
	case $(config_options) in
	*CONFIG_DEBUG_INFO_BTF=y*) echo pahole:dwarves ;;
	esac
	# Tests in a 32-bit guest need a 32-bit program.
	case $CONFIG in
	i386 | gcov32) printf '%s\n' i686-linux-gnu-gcc:gcc-i686-linux-gnu \
		/usr/i686-linux-gnu/include/stdio.h:libc6-dev-i386-cross ;;
	esac
}

# Directories of modules to build with it: "# modules DIR".
config_modules()
{
	fragment_lines "$CONFIG.config" | sed -n 's/^# modules //p' | sort -u
}

# Do the tests run once more while all functions are traced? "# traced"
config_is_traced() { fragment_lines "$CONFIG.config" | grep -qx '# traced'; }

# The version of clang and its tools that build it: "# llvm VERSION". None for gcc.
config_llvm() { fragment_lines "$CONFIG.config" | sed -n 's/^# llvm //p' | tail -n 1; }

# config_slow: how many times as long everything takes on the kernel of CONFIG
config_slow()
{
	case $(config_options) in
	*CONFIG_KCSAN=y*) echo 6 ;;
	*CONFIG_KASAN=y*|*CONFIG_DEBUG_KMEMLEAK=y*) echo 4 ;;
	*) if config_is_traced; then echo 4; else echo 1; fi ;;
	esac
}

# external_dir OUT DIR: where the build in OUT makes the modules of a directory
external_dir() { echo "$1/$(echo "${2#tools/testing/}" | tr / -)"; }

# modules_of OUT: the modules of that build, a path a line. Only these: kbuild leaves the .ko
# of a module that it does not build any more.
modules_of()
{
	local dir

	[ ! -e "$1/modules.order" ] || sed "s,^,$1/,; s/\.o$/.ko/" "$1/modules.order"
	# Only external modules have one of their own.
	for dir in "$1"/*/Module.symvers; do
		dir=${dir%/*}
		[ ! -e "$dir/modules.order" ] || sed "s,.*/,$dir/,; s/\.o$/.ko/" "$dir/modules.order"
	done
}

config_arch()
{
	fragment_lines "$CONFIG.config" |
		awk '/^# arch / { arch = $3 } END { print arch ? arch : "x86_64" }'
}

# Objects must not depend on the directory, the user or the day, so that ccache serves other
# clones, too. Time stamps of headers may be ignored, because only tree.sh changes headers.
ccache_env()
{
	export CCACHE_BASEDIR=$build CCACHE_NOHASHDIR=1
	export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-10G}
	export CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime
	export KBUILD_BUILD_TIMESTAMP='Sun Nov 17 22:15:08 UTC 2024'
	export KBUILD_BUILD_USER=kprobes KBUILD_BUILD_HOST=kprobes
	export KBUILD_BUILD_VERSION=1
}

# kill_tree PID: a process and all that it has started
kill_tree()
{
	local child

	cat /proc/"$1"/task/*/children 2>/dev/null | tr ' ' '\n' | while read -r child; do
		[ -z "$child" ] || kill_tree "$child"
	done
	kill "$1" 2>/dev/null || true
}

# bash starts what runs in the background with SIGINT ignored, so after Ctrl-C a build would run
# on. A command with this in front of it ends as its script does.
interruptible=(env --default-signal=INT --default-signal=QUIT)

# cases_so_far CONSOLE: how many cases of KUnit have ended there
cases_so_far() { grep -acE '^(\[[ .0-9]*\] )?    (not )?ok ' "$1" 2>/dev/null || true; }

# tended PID WHAT LOG SECONDS SAYS: a line as often as that until it ends, with what SAYS LOG TIME
# prints; its status.
tended()
{
	local start=$SECONDS next=$4

	while kill -0 "$1" 2>/dev/null; do
		sleep 0.2
		if ! kill -0 "$KPROBES_OWNER" 2>/dev/null; then
			kill_tree "$1"
			die "$2: stopped: the command that started it has ended"
		fi
		[ $((SECONDS - start)) -ge "$next" ] || continue
		next=$((next + $4))
		say "$2: $("$5" "$3" "$((SECONDS - start)) s")"
	done
	wait "$1"
}

objects_so_far()
{
	local steps

	steps=$(grep -cE '^  (CC|AS|LD|AR)' "$1") || true
	[ "$steps" -eq 0 ] || printf '%s objects, ' "$steps"
	echo "$2"
}

last_line() { echo "$2: $(grep -v '^    ' "$1" | tail -n 1 | cut -c1-90)"; }

# progress PID WHAT LOG: a line every ten seconds, with the number of objects
progress() { tended "$1" "$2" "$3" 10 objects_so_far; }

# watched PID WHAT LOG: a line each minute, with the last one of its log
watched() { tended "$1" "$2" "$3" 60 last_line; }
