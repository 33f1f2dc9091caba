# SPDX-License-Identifier: GPL-2.0
# client: selftests/bpf, those that concern probes
# shellcheck shell=dash

# Each feature is a file of prog_tests, built by bpf.sh; some of these define two
# tests.
try_any() { bpf_test "$1" "" bench; }
# The test that attaches to most functions takes long.
try_kprobe_multi_bench_attach()
{
	bpf_test kprobe_multi_test bench '' -v
	for what in attached detached; do
		printf '%s\n' "$out" | sed -En "s/^.*$what in +([0-9.]+)s.*/\1/p" | {
			n=0
			while read -r seconds; do
				n=$((n + 1))
				figure "$what, list $n" "$seconds s"
			done
		}
	done
}

# bpf_test FILE REGEX [NOT [OPTION]]: the tests of that file whose names match
bpf_test()
{
	dir=$KERNEL/selftests-bpf
	if [ -e "$dir/$1.failed" ]; then
		fail "$(clang --version | sed -n 's/.*clang version \([0-9.]*\).*/clang \1/p' | head -n 1): $(cat "$dir/$1.failed")"
		return
	fi
	# The test loads its programs from its own directory.
	rm -rf /tmp/bpf
	cp -r "$dir" /tmp/bpf
	cd /tmp/bpf || { fail "no tests in $dir"; return; }
	tests=$(sed -n -E 's/^void (serial_)?test_([a-zA-Z0-9_]+)\((void)?\).*/\2/p' \
		"$SOURCE/tools/testing/selftests/bpf/prog_tests/$1.c" | grep -E "$2" | grep -vE "${3:-^$}" | paste -sd,)
	run ./test_progs $4 -a "$tests"
	has "the summary" '^Summary: [1-9][0-9]*/[0-9]+ PASSED, 0 SKIPPED, 0 FAILED'
}
