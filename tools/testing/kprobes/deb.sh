#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes kernel packages for a real machine, from build/linux without the patches for emulators.
#
#   deb.sh          make them. DEB_CONFIG= is the .config to start from: by default
#                   this machine's own, else the newest of /boot
#   deb.sh check    make them with the config "systemd", or DEB_CONFIG=, install them
#                   into a Debian that is made for this, boot that in a guest, and check
#                   that its systemd is up and the samples work. Needs root.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

out=$build/deb
log=$build/deb.log
suite=bookworm

kmake()
{
	"${interruptible[@]}" make -C "$out/linux" O="$out/out" ARCH=x86_64 CC="ccache gcc" HOSTCC="ccache gcc" \
		LOCALVERSION=-kprobes PAHOLE=none KDEB_PKGVERSION="1.$(date +%Y%m%d)" \
		KCPPFLAGS="-fmacro-prefix-map=../linux/=" "$@"
}

# Not the kernel of guests: without the emulator's patches, so in a tree of its own.
prepare()
{
	need_build
	need dpkg-buildpackage:dpkg-dev dh_listpackages:debhelper fakeroot:fakeroot rsync:rsync \
		kmod:kmod /usr/include/openssl/ssl.h:libssl-dev
	mkdir -p "$out/out"
	lock deb
	ccache_env
	say "preparing the tree without the changes that only an emulator needs"
	EMULATOR_PATCHES=0 KPROBES_BUILD=$out "$here/tree.sh"
}

# configure CONFIG: the options of the packages. Kconfig asks for programs of its own.
configure()
{
	local asked=()

	cp "$1" "$out/out/.config"
	# Only the distribution has its keys, and debug information is not needed.
	"$out/linux/scripts/config" --file "$out/out/.config" \
		--enable KPROBES --enable KPROBE_EVENTS --enable OPTPROBES \
		--enable SAMPLES --module SAMPLE_KPROBES --module SAMPLE_KRETPROBES \
		--set-str SYSTEM_TRUSTED_KEYS '' --set-str SYSTEM_REVOCATION_KEYS '' \
		--disable DEBUG_INFO_BTF --disable DEBUG_INFO --enable DEBUG_INFO_NONE
	kmake olddefconfig >"$log" 2>&1 </dev/null || die "$1 does not configure: see $log"
	grep -qx CONFIG_KPROBES=y "$out/out/.config" ||
		die "$1 has no modules, or does not allow kprobes"
	! grep -qx CONFIG_MODULE_SIG_ALL=y "$out/out/.config" || asked+=(openssl:openssl)
	! grep -qxE 'CONFIG_(KERNEL|MODULE_COMPRESS)_ZSTD=y' "$out/out/.config" || asked+=(zstd:zstd)
	need "${asked[@]}"
}

# packages CONFIG: made by the kernel's own target, bindeb-pkg
packages()
{
	say "building with $1: takes hours with a distribution's, see $log"
	rm -f "$out"/linux-*.deb
	kmake -j"$(nproc)" bindeb-pkg >>"$log" 2>&1 </dev/null &
	progress $! "packages" "$log" || { tail -n 5 "$log" >&2; die "no package: see $log"; }
	say "packages: $(cd "$out" && find . -maxdepth 1 -name 'linux-*.deb' -printf '%f ')in build/deb; dpkg -i installs them"
}

# A small Debian, made once; and a copy with the packages installed, as on a machine.
root_with_packages()
{
	local image headers deb

	if [ ! -e "$out/root/sbin/init" ]; then
		need mmdebstrap:mmdebstrap
		say "making a small Debian $suite in build/deb/root"
		rm -rf "$out/root"
		mmdebstrap --quiet --variant=minbase --include=systemd-sysv,udev,kmod,dbus \
			"$suite" "$out/root" >"$out/root.log" 2>&1 </dev/null || {
			rm -rf "$out/root"
			die "mmdebstrap failed: see $out/root.log"
		}
	fi
	rm -rf "$out/run"
	cp -a "$out/root" "$out/run"
	image=$(find "$out" -maxdepth 1 -name 'linux-image-*.deb' ! -name '*-dbg_*')
	headers=$(find "$out" -maxdepth 1 -name 'linux-headers-*.deb')
	for deb in $image $headers; do
		cp "$deb" "$out/run/tmp/"
		chroot "$out/run" dpkg -i "/tmp/${deb##*/}" >>"$out/root.log" 2>&1 </dev/null ||
			die "dpkg does not install ${deb##*/}: see $out/root.log"
	done
	mkdir -p "$out/run/usr/local/sbin"
	cp "$here/guest/jobs/deb.sh" "$out/run/usr/local/sbin/kprobes-check"
	cat >"$out/run/etc/systemd/system/kprobes-check.service" <<-'END'
		[Unit]
		Description=Look at systemd and at the samples of kprobes
		After=basic.target
		[Service]
		Type=simple
		ExecStart=/bin/sh -c 'exec /bin/sh /usr/local/sbin/kprobes-check >/dev/ttyS1 2>&1'
		[Install]
		WantedBy=multi-user.target
	END
	chroot "$out/run" systemctl enable kprobes-check.service >>"$out/root.log" 2>&1
	# Only the kernel's console is there, and it is slow.
	chroot "$out/run" systemctl mask serial-getty@ttyS0.service >>"$out/root.log" 2>&1
}

check()
{
	local kernel status=0

	[ "$(id -u)" -eq 0 ] || die "deb-check installs packages into its own root directory: use sudo"
	need mmdebstrap:mmdebstrap
	prepare
	config=${DEB_CONFIG:-}
	if [ -z "$config" ]; then
		config=$out/systemd.config
		CONFIG=systemd config_options >"$out/.options"
		KCONFIG_ALLCONFIG=$out/.options kmake -s allnoconfig >"$log" 2>&1 </dev/null ||
			die "config systemd does not configure: see $log"
		cp "$out/out/.config" "$config"
		lacking=$(grep -v '^#' "$out/.options" | grep -vxFf "$config" || true)
		[ -z "$lacking" ] || die "config systemd: kconfig did not accept $(echo "$lacking" | paste -sd' ')"
	fi
	configure "$config"
	# The guest has no initramfs that could load modules.
	lacking=$(printf 'CONFIG_%s=y\n' SERIAL_8250_CONSOLE VIRTIO_PCI NET_9P_VIRTIO 9P_FS |
		grep -vxFf "$out/out/.config" || true)
	[ -z "$lacking" ] || die "deb-check boots by 9p, without an initramfs: $config has to have $(echo "$lacking" | paste -sd' ')"
	# Compressing takes longer than booting.
	KDEB_COMPRESS=${KDEB_COMPRESS:-gzip} packages "$config"
	root_with_packages
	kernel=$(find "$out/run/boot" -name 'vmlinuz-*')
	say "booting $(basename "$kernel") with Debian's systemd (build/deb/logs/)"
	# One CPU: it goes without what the emulator needs.
	KPROBES_BUILD=$out EMULATOR_PATCHES=0 BOOT_TIMEOUT=900 "$here/guest.sh" -c 1 -t 900 -l deb \
		-a "systemd.default_timeout_start_sec=600 systemd.show_status=1" \
		-R "$out/run" "$kernel" deb || status=$?
	[ $status -eq 0 ] || die "deb-check: failed, see above and build/deb/logs/"
	say "deb-check: all is well"
}

if [ "${1:-}" = check ]; then
	check
	exit
fi
config=${DEB_CONFIG:-}
if [ -z "$config" ]; then
	config=/boot/config-$(uname -r)
	[ -e "$config" ] || config=$(find /boot -name 'config-*' 2>/dev/null | sort -V | tail -n 1)
fi
[ -e "$config" ] || die "no .config in /boot: give one by DEB_CONFIG=, e.g. that of Debian's package linux-config-6.12"
prepare
configure "$config"
packages "$config"
