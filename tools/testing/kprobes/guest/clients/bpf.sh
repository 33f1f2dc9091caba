# SPDX-License-Identifier: GPL-2.0
# client: selftests/bpf, those that concern probes
# shellcheck shell=dash

# Each feature is a file of prog_tests; bpf.sh has built it, and some of these define two
# tests.
try_any()
{
	dir=$KERNEL/selftests-bpf
	if [ -e "$dir/$1.failed" ]; then
		fail "$(clang --version | sed -n 's/.*clang version \([0-9.]*\).*/clang \1/p' | head -n 1): $(cat "$dir/$1.failed")"
		return
	fi
	# The programs are loaded from where the test is.
	rm -rf /tmp/bpf
	cp -r "$dir" /tmp/bpf
	cd /tmp/bpf || { fail "no tests in $dir"; return; }
	tests=$(sed -n -E 's/^void (serial_)?test_([a-zA-Z0-9_]+)\((void)?\).*/\2/p' \
		"$SOURCE/tools/testing/selftests/bpf/prog_tests/$1.c" | grep -v bench | paste -sd,)
	run ./test_progs -a "$tests"
	has "the summary" '^Summary: [1-9][0-9]*/[0-9]+ PASSED, 0 SKIPPED, 0 FAILED'
}
