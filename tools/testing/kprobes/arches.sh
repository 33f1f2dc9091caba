# SPDX-License-Identifier: GPL-2.0
# The architectures: how each is built, and where it boots. Source it after
# common.sh.
#
# For architectures other than x86, there are kernels without user space: the KUnit suites
# are built in, see boot.sh. Where Debian has programs for the architecture, there
# is configs/NAME-user.config, too: see guest.sh.
# shellcheck shell=bash disable=SC2034,SC2154

# "make test-arches" runs these. Each has a configs/NAME.config.
arches="arm64 riscv64 s390x ppc64le ppc64 arm mips sparc64 sh parisc"
# Built only: Debian's QEMU does not emulate it.
arches_built=arc
arches_all="$arches $arches_built"

# arch_is NAME: set
#   karch      ARCH= of the kernel's make
#   srcarch    its folder in arch/
#   cross      prefix of the compiler; empty for the host's
#   cc_package its Debian package
#   target     make target of the image
#   image      the file that this makes
#   qemu       the emulator; empty if there is none
#   qemu_package
#   machine    its arguments
#   threads    of QEMU for the CPUs: "multi", one for each; or "single"
#   console    kernel parameters
#   virtio     the bus of virtio devices in its machine
#   debian     Debian's name for it; empty if there are no programs for it
#   quirk      a variable for the kernel's make, which the base or the compiler needs
#   plugin     of the compiler, NAME of NAME.cc here: with it, the code is right
arch_is()
{
	cross='' target='' qemu='' qemu_package='' machine='' console='' virtio='' debian='' quirk='' plugin=''
	threads=multi
	case $1 in
	arm64)
		built_by arm64 aarch64-linux-gnu- arch/arm64/boot/Image
		booted_by aarch64 arm ttyAMA0 -M virt -cpu cortex-a57
		virtio=device debian=arm64
		;;
	arm)
		built_by arm arm-linux-gnueabihf- arch/arm/boot/zImage
		booted_by arm arm ttyAMA0 -M virt -cpu cortex-a15
		;;
	riscv64)
		built_by riscv riscv64-linux-gnu- arch/riscv/boot/Image
		booted_by riscv64 misc ttyS0 -M virt
		;;
	s390x)
		built_by s390 s390x-linux-gnu- arch/s390/boot/bzImage
		booted_by s390x misc ttysclp0 -M s390-ccw-virtio -cpu max
		virtio=ccw debian=s390x
		;;
	ppc64le | ppc64)
		built_by powerpc "power${1#p}-linux-gnu-" vmlinux
		booted_by ppc64 ppc hvc0 -M pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken \
			-cpu power9 -vga none
		# A stale translation of a breakpoint that is gone traps, and the handler
		# finds no probe. It then reads the text. If another CPU has just armed the
		# next probe there, the trap seems to belong to no one, and the kernel
		# crashes. No real CPU does that: removing a probe waits for such handlers.
		# The patches in emulator/ are for others; here a single thread is enough,
		# which cannot translate and write at the same time.
		! old_emulator "$qemu" || threads=single
		;;
	mips)
		built_by mips mips-linux-gnu- vmlinux
		booted_by mips mips ttyS0 -M malta -cpu 34Kf
		;;
	sparc64)
		built_by sparc64 sparc64-linux-gnu- vmlinux
		booted_by sparc64 sparc '' -M sun4u -vga none -smp 1
		# The firmware prints, as there is no driver for the serial line.
		console='earlyprintk keep_bootcon'
		# Two flags of 6.12.117 have the same value there: leave out the check for that.
		quirk=CFLAGS_fcntl.o=-U__OPTIMIZE__
		;;
	sh)
		built_by sh sh4-linux-gnu- arch/sh/boot/zImage
		# Linux uses the second serial line.
		booted_by sh4 misc ttySC1 -M r2d -serial null
		threads=single plugin=gcc_sh
		;;
	parisc)
		built_by parisc hppa-linux-gnu- vmlinux
		booted_by hppa misc ttyS0 -M hppa
		;;
	arc)
		built_by arc arc-linux-gnu- vmlinux
		# With its own pass for conditional execution, GCC 12 fails on slub.c and random.c.
		quirk=KCFLAGS=-mno-cond-exec
		;;
	x86_64 | i386)
		built_by "$1" '' arch/x86/boot/bzImage
		# The firmware is the fast one that kunit.py uses. "max" is a CPU that does
		# not need the return thunks of real ones; the configs say which are
		# compiled in. CMPXCHG16B is off: QEMU 7.2 spoils the flags after it if a
		# comparison precedes it and an exception has returned shortly before, so a
		# probe there would save and restore wrong flags.
		booted_by x86_64 x86 ttyS0 -bios qboot.rom -cpu max,-cx16
		virtio=pci
		;;
	*)
		die "ARCH=$1: no such architecture here, have $arches_all"
		;;
	esac
	cc_package=gcc-${cross%-}
	case $karch in
	x86_64 | i386) srcarch=x86 ;;
	sparc64) srcarch=sparc ;;
	*) srcarch=$karch ;;
	esac
}

# built_by KARCH CROSS IMAGE, booted_by EMULATOR PACKAGE CONSOLE MACHINE...: for arch_is
built_by() { karch=$1 cross=$2 image=$3 target=${3##*/}; }
booted_by() { qemu=qemu-system-$1 qemu_package=qemu-system-$2 console=console=$3 machine=${*:4}; }

# arch_packages NAME...: the arguments of need() to build and boot kernels of these
arch_packages()
{
	local name

	for name; do
		arch_is "$name"
		[ -z "$cross" ] || echo "${cross}gcc:$cc_package"
		[ -z "$qemu" ] || echo "$qemu:$qemu_package"
		[ -z "$plugin" ] || plugin_packages
	done | sort -u
}

# plugin_packages, make_plugin: what a compiler's plugin needs; and build/$plugin.so
plugin_packages()
{
	echo "g++:g++"
	echo "/usr/lib/gcc-cross/${cross%-}/12/plugin/include/gcc-plugin.h:gcc-12-plugin-dev-${cross%-}"
}

# A plugin is for one build of the compiler, which refuses others.
make_plugin()
{
	local new=$build/$plugin.new.so

	[ -n "$plugin" ] || return 0
	mkdir -p "$build"
	if [ "$build/$plugin.so" -nt "$here/$plugin.cc" ] &&
		"${cross}gcc" -fplugin="$build/$plugin.so" -x c -S -o /dev/null /dev/null 2>/dev/null; then
		return 0
	fi
	g++ -O1 -fno-rtti -shared -fPIC -I"$("${cross}gcc" -print-file-name=plugin)/include" \
		-o "$new" "$here/$plugin.cc" || die "$plugin.cc does not compile: is it for this GCC?"
	mv "$new" "$build/$plugin.so"
}

# kmake ARGS...: the kernel's make, in $src for $out and the architecture. The version of
# pahole is an option that each file depends on, so installing it would rebuild all kernels.
# So only those that need pahole get it, by pahole=.
kmake()
{
	local compiler=${cross}gcc

	[ -z "${llvm:-}" ] || compiler=clang-$llvm
	"${interruptible[@]}" make -C "$src" O="$out" ARCH="$karch" CROSS_COMPILE="$cross" ${llvm:+LLVM="-$llvm"} \
		CC="ccache $compiler" HOSTCC="ccache gcc" LOCALVERSION= \
		PAHOLE="${pahole:-none}" ${quirk:+"$quirk"} ${plugin:+KCFLAGS=-fplugin="../$plugin.so"} \
		KCPPFLAGS="-fmacro-prefix-map=../${src#"$build"/}/=" "$@"
}
