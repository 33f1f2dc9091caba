#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs unmodified clients of kprobes on our kernel and on stock with the same config, in guests
# that have this machine's root and tools. Prints a table: each client's features, stock next to
# ours, with the figures that a feature gives. All features have to pass on ours, except those
# that expected/clients gives a reason for, which must pass on neither. At least one feature of
# each client has to pass, unless expected/clients names the client. A feature that did not run
# has failed. If a guest with ours dies, that is a failure, whatever the cause.
#
#   clients.sh [PICK...]   client, or client.feature, with wildcards (default: all that has
#                          not run yet; AGAIN=1: all)
#   clients.sh --check [PICK...]  only install what is needed, and check that the picks
#                          name something
#
# The output of a feature that failed is in build/logs/clients-KERNEL/.
#
# CONFIG= is clients by default. ONLY=ours or ONLY=stock runs one of them and takes the
# other's results from the last time, ONLY=none takes those of both. Results are valid
# until the kernel is rebuilt or the client's script changes.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/clients-results.sh
. "$(dirname "$0")/clients-results.sh"

per_guest=40		# features that one boot runs
# Of selftests/bpf.
bpf_tests=(attach_probe bpf_cookie core_retro custom_sec_handlers fill_link_info find_vma
	get_func_ip_test kprobe_multi_test kprobe_multi_testmod_test missed module_attach
	perf_buffer probe_user stacktrace_build_id stacktrace_map stacktrace_map_skip
	test_bpf_syscall_macro test_overhead test_profiler vmlinux)

check=''
if [ "${1:-}" = --check ]; then
	check=1
	shift
fi
need bpftrace:bpftrace funccount-bpfcc:bpfcc-tools trace-cmd:trace-cmd stap:systemtap \
	perf:linux-perf /sbin/depmod:kmod perl:perl python3:python3 gcc:gcc clang:clang \
	pahole:dwarves ccache:ccache /usr/include/gelf.h:libelf-dev /usr/include/zlib.h:zlib1g-dev

# seconds_of FEATURE: what it may take. An emulated CPU is slow to attach many probes, and
# to read the debug information of a kernel.
seconds_of()
{
	case $1 in
	*.attach_* | *_bench_attach | perf.kernel_* | systemtap.*) echo 1800 ;;
	*) echo 600 ;;
	esac
}

kernels=("stock-$CONFIG" "$CONFIG")
[ "${ONLY:-}" != ours ] || kernels=("$CONFIG")
[ "${ONLY:-}" != stock ] || kernels=("stock-$CONFIG")
[ "${ONLY:-}" != none ] || kernels=()
mkdir -p "$build/logs"

# All features, client.feature a line: by the names of functions, files of test.d, or
# files of prog_tests.
features()
{
	local script

	for script in "$here"/guest/clients/*.sh; do
		sed -n "s/^try_\([a-z_0-9]*\)().*/$(basename "$script" .sh).\1/p" "$script" |
			grep -v '\.any$' || true
	done
	printf 'bpf.%s\n' "${bpf_tests[@]}"
	(cd "$stock_src/tools/testing/selftests/ftrace/test.d" &&
		{
			grep -lriE 'k(ret)?probe|fprobe' --include='*.tc' .
			printf './%s\n' kprobe/*.tc dynevent/*kprobe*.tc dynevent/*fprobe*.tc
		} | sed 's,^\./\(.*\)\.tc$,ftrace.\1,' | sort -u)
}

picked()
{
	local feature pick

	while read -r feature; do
		[ $# -gt 0 ] || echo "$feature"
		for pick; do
			# shellcheck disable=SC2254
			case $feature in
			$pick|$pick.*)
				echo "$feature"
				break
				;;
			esac
		done
	done
}

# boot NAME SOURCE LOG FEATURE...: the guest ends a feature that takes too long, unless it
# hangs itself.
boot()
{
	local name=$1 source=$2 log=$3 feature each all=0 longest=0 features=''

	shift 3
	for feature; do
		each=$(seconds_of "$feature")
		features+=" $feature:$each"
		all=$((all + each))
		[ "$each" -le "$longest" ] || longest=$each
	done
	"$here/guest.sh" -r -m 3072 -q "-drive if=virtio,format=raw,file=$disk" -t $((all + 120)) \
		-w $((longest + 120)) -l "$log" "$build/$name" clients \
		KERNEL="$(readlink -f "$build/$name")" SOURCE="$source" SPLATS="$SPLATS" \
		FEATURES="$features" >"$build/logs/$log.txt" 2>&1 </dev/null
}

# Another clients.sh may be running, with ONLY=. Changing the results takes this lock, so that
# neither drops what the other adds.
hold_results()
{
	flock 7
}

release_results()
{
	flock -u 7
}

# forget NAME: the results of the features on standard input. Others' stay.
forget()
{
	local file=$build/logs/clients-$1

	cat >"$file.forgotten"
	awk -F '\t' 'FILENAME == ARGV[1] { gone[$1]; next } !($2 in gone)' "$file.forgotten" "$file.results" >"$file.new"
	mv "$file.new" "$file.results"
	awk -F '[ :]+' 'FILENAME == ARGV[1] { gone[$1]; next } !($7 in gone)' "$file.forgotten" "$file.deaths" >"$file.new"
	mv "$file.new" "$file.deaths"
	rm "$file.forgotten"
}

# collect: adds what the running guest has reported so far to the results, so that it is there
# even if this script is stopped.
collect()
{
	[ -n "$log" ] || return 0
	hold_results
	sed -n 's/^\(ok\|not ok\|skip\|figure\) - \([^:]*\): \(.*\)$/\1\t\2\t\3/p' \
		"$build/logs/$log.txt" >>"$file"
	release_results
	# Logs are of one run, so what the features that failed have said is kept elsewhere.
	mkdir -p "${file%.results}"
	awk -v dir="${file%.results}" '
		/^(ok|not ok|skip) - / {
			failed = ""
			if (/^not ok/) {
				gsub("/", "-", $4)
				failed = dir "/" substr($4, 1, length($4) - 1)
				printf "" >failed
			}
		}
		failed { print >failed }' "$build/logs/$log.txt"
	log=''
}

# results NAME SOURCE: lines of verdict, feature and text, with tabs between; a verdict
# "figure" has "what: value" as its text, a verdict "note" is none. A guest that dies is
# not the end: the rest runs in another one. What was running may only have met what an
# earlier feature had broken, so it is blamed if it was the first one there, and else runs
# again. The deaths themselves are kept, too.
results()
{
	local name=$1 source=$2 todo=() batch=() died n=0 last text why first=0
	local deaths=$build/logs/clients-$1.deaths

	file=$build/logs/clients-$name.results
	mapfile -t todo < <(awk -F '\t' 'FILENAME == ARGV[2] { if (!($1 in known)) print; next }
		$1 ~ /^(ok|not ok|skip)$/ { known[$2] }' "$file" "$wanted")
	hold_results
	forget "$name" < <(printf '%s\n' "${todo[@]}")
	release_results
	while [ ${#todo[@]} -gt 0 ]; do
		n=$((n + 1))
		batch=("${todo[@]:0:$per_guest}")
		todo=("${todo[@]:$per_guest}")
		log=clients-$name-$n
		text=$build/logs/$log.txt
		died=''
		: >"$text"
		say "clients on $name: ${#batch[@]} features from ${batch[0]} on" >&2
		boot "$name" "$source" "$log" "${batch[@]}" || died=1
		collect
		last=$(grep -c -E '^(ok|not ok|skip) - ' "$text") || true
		if [ -z "$died" ]; then
			# If a feature leaves something over that cannot be removed, the guest ends, too.
			[ "$last" -gt 0 ] || die "a guest with $name has run nothing: see $text"
			todo=("${batch[@]:$last}" "${todo[@]}")
			continue
		fi
		[ "$last" -lt ${#batch[@]} ] || last=$((${#batch[@]} - 1))
		why=$(tail -n 1 "$text")
		printf 'a guest with %s died in %s: %s\n' "$name" "${batch[$last]}" "$why" >>"$deaths"
		printf 'note\t%s\ta guest died in it: %s\n' "${batch[$last]}" "$why" >>"$file"
		if [ "$last" -gt 0 ]; then
			first=0
		else
			first=$((first + 1))
			[ $first -lt 5 ] || die "every guest with $name dies: $why"
			printf 'not ok\t%s\tthe guest died: %s\n' "${batch[0]}" "$why" >>"$file"
			last=1
		fi
		todo=("${batch[@]:$last}" "${todo[@]}")
	done
}

wanted=$(mktemp)
disk=$(mktemp)
log=''
trap 'collect; rm -f "$wanted" "$disk"' EXIT
# Otherwise all features of ftrace would be left out, with only a complaint from the shell.
[ -d "$stock_src" ] || die "no source in $stock_src: make test-clients unpacks it"
truncate -s 16M "$disk"
features | picked "$@" >"$wanted"
for pick; do
	[ -n "$(features | picked "$pick")" ] ||
		die "no client or feature is named $pick: have $(features | cut -d. -f1 | sort -u | paste -sd' ')"
done
[ -z "$check" ] || exit 0
for name in "${kernels[@]}"; do
	[ -e "$build/$name/vmlinux" ] || die "no kernel in build/$name: make test-clients builds it"
done

# runs_on KERNEL: what all results there depend on. The clients are those of this machine.
runs_on()
{
	sha1sum "$build/$1/vmlinux"
	[ ! -e "$build/$1/kprobes-modules/kprobe_target.ko" ] || sha1sum "$build/$1/kprobes-modules/kprobe_target.ko"
	(cd "$here" && sha1sum guest/init guest/lib.sh guest/lib-clients.sh guest/jobs/clients.sh \
		guest.sh bpf.sh bpf_insns.c clients.sh common.sh)
	emulator_version
	dpkg-query -W -f '${Package} ${Version}\n' | grep -E '^(linux-perf|bpftrace|libbpf|bpfcc|python3-bpfcc|systemtap|trace-cmd|strace|libtrace|gcc-|clang-)' || true
}

# Keep the results from the last time that are of the same kernel and script.
exec 7>"$build/.clients-results.lock"
hold_results
for name in "$CONFIG" "stock-$CONFIG"; do
	file=$build/logs/clients-$name
	runs_on "$name" >"$file.id.new"
	cmp -s "$file.id.new" "$file.id" || rm -f "$file.results" "$file.deaths" "$file.scripts"
	mv "$file.id.new" "$file.id"
	[ -e "$file.results" ] || touch "$file.results" "$file.deaths"
	touch "$file.scripts"
	# What is written down is what the guests of this run will get: a change meanwhile counts
	# the next time.
	(cd "$here/guest/clients" && sha1sum ./*.sh) >"$file.scripts.new"
	mapfile -t changed < <(comm -23 <(sort "$file.scripts.new") <(sort "$file.scripts") |
		sed 's,.*\./\(.*\)\.sh$,\1,')
	features | picked "${changed[@]:-}" | forget "$name"
	mv "$file.scripts.new" "$file.scripts"
done
if [ $# -gt 0 ] || [ -n "${AGAIN:-}" ]; then
	for name in "${kernels[@]}"; do
		forget "$name" <"$wanted"
	done
fi
release_results

if grep -q '^bpf\.' "$wanted"; then
	for name in "${kernels[@]}"; do
		"$here/bpf.sh" "$name" "${bpf_tests[@]}"
	done
fi
for name in "${kernels[@]}"; do
	if [ "$name" = "$CONFIG" ]; then
		results "$name" "$src"
	else
		results "$name" "$stock_src"
	fi
done

# The table, and what it means.
status=0
verdict=$(clients_verdict "$build/logs/clients-stock-$CONFIG.results" "$build/logs/clients-$CONFIG.results" \
	"$here/expected/clients" "${1:+some}" <"$wanted") || status=1
printf '%s\n' "$verdict"
noted "$(tail -n 1 <<<"$verdict")"
cat "$build/logs/clients-stock-$CONFIG.deaths" "$build/logs/clients-$CONFIG.deaths"
[ ! -s "$build/logs/clients-$CONFIG.deaths" ] || status=1
exit $status
