#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make deb": a kernel package to install on a real machine, from build/linux
# without what only an emulator needs. DEB_CONFIG= is the .config to start from:
# by default this machine's own, else the newest of /boot.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

out=$build/deb
log=$build/deb.log
config=${DEB_CONFIG:-}
if [ -z "$config" ]; then
	config=/boot/config-$(uname -r)
	[ -e "$config" ] || config=$(find /boot -name 'config-*' 2>/dev/null | sort -V | tail -n 1)
fi
[ -e "$config" ] || die "no .config in /boot: give one by DEB_CONFIG=, e.g. that of Debian's package linux-config-6.12"

need_build
need dpkg-buildpackage:dpkg-dev dh_listpackages:debhelper fakeroot:fakeroot rsync:rsync kmod:kmod \
	/usr/include/openssl/ssl.h:libssl-dev pahole:dwarves
mkdir -p "$out/out"
lock deb
ccache_env

# Not the kernel of guests: without the emulator's patches, so in a tree of its own.
say "the tree without what only an emulator needs"
EMULATOR_PATCHES=0 KPROBES_BUILD=$out "$here/tree.sh"

kmake()
{
	make -C "$out/linux" O="$out/out" ARCH=x86_64 CC="ccache gcc" HOSTCC="ccache gcc" \
		LOCALVERSION=-kprobes KDEB_PKGVERSION="1.$(date +%Y%m%d)" "$@"
}

cp "$config" "$out/out/.config"
# Keys and debug information of the distribution are not ours to have.
"$out/linux/scripts/config" --file "$out/out/.config" \
	--enable KPROBES --enable KPROBE_EVENTS --enable OPTPROBES \
	--module SAMPLE_KPROBES --module SAMPLE_KRETPROBES --enable SAMPLES \
	--set-str SYSTEM_TRUSTED_KEYS '' --set-str SYSTEM_REVOCATION_KEYS '' \
	--disable DEBUG_INFO_BTF --disable DEBUG_INFO --enable DEBUG_INFO_NONE
kmake olddefconfig >"$log" 2>&1 || die "$config does not configure: see $log"
grep -qx CONFIG_KPROBES=y "$out/out/.config" || die "$config has no modules, or else kprobes are not possible with it"
say "building with $config: hours for a distribution's, see $log"
kmake -j"$(nproc)" bindeb-pkg >>"$log" 2>&1 </dev/null &
progress $! "packages" "$log" || { tail -n 5 "$log" >&2; die "no package: see $log"; }
say "packages: $(cd "$out" && find . -maxdepth 1 -name 'linux-*.deb' -printf '%f ')in build/deb; dpkg -i installs them"
