# SPDX-License-Identifier: GPL-2.0
# The architectures: how each is built, and where it boots. Source it after
# common.sh.
#
# For architectures other than x86, there are kernels without user space: the KUnit suites
# are built in, see boot.sh. Where Debian has programs for the architecture, there
# is configs/NAME-user.config, too: see guest.sh.
# shellcheck shell=bash disable=SC2034,SC2154

# "make test-arches" runs these. Each has a configs/NAME.config.
arches="arm64 riscv64 s390x ppc64le ppc64 arm mips"
# Built only: no machine here boots them.
arches_built="sparc64 parisc sh arc"

# arch_is NAME: set
#   karch      ARCH= of the kernel's make
#   srcarch    its folder in arch/
#   cross      prefix of the compiler; empty for the host's
#   cc_package Debian package of that
#   target     make target of the image
#   image      what it makes
#   qemu       the emulator; empty if there is none
#   qemu_package
#   machine    its arguments
#   console    kernel parameters
#   virtio     how its machine has devices of virtio
#   debian     what Debian calls it; empty if there are no programs for it
arch_is()
{
	cross='' target='' qemu='' qemu_package='' machine='' console='' virtio='' debian=''
	case $1 in
	arm64)
		karch=arm64 cross=aarch64-linux-gnu-
		target=Image image=arch/arm64/boot/Image
		qemu=qemu-system-aarch64 qemu_package=qemu-system-arm
		machine='-M virt -cpu cortex-a57' console='console=ttyAMA0'
		virtio=device debian=arm64
		;;
	arm)
		karch=arm cross=arm-linux-gnueabihf-
		target=zImage image=arch/arm/boot/zImage
		qemu=qemu-system-arm qemu_package=qemu-system-arm
		machine='-M virt -cpu cortex-a15' console='console=ttyAMA0'
		;;
	riscv64)
		karch=riscv cross=riscv64-linux-gnu-
		target=Image image=arch/riscv/boot/Image
		qemu=qemu-system-riscv64 qemu_package=qemu-system-misc
		machine='-M virt' console='console=ttyS0'
		;;
	s390x)
		karch=s390 cross=s390x-linux-gnu-
		target=bzImage image=arch/s390/boot/bzImage
		qemu=qemu-system-s390x qemu_package=qemu-system-misc
		machine='-M s390-ccw-virtio -cpu max' console='console=ttysclp0'
		virtio=ccw debian=s390x
		;;
	ppc64le | ppc64)
		karch=powerpc
		cross=powerpc64le-linux-gnu-
		[ "$1" = ppc64le ] || cross=powerpc64-linux-gnu-
		target=vmlinux image=vmlinux
		qemu=qemu-system-ppc64 qemu_package=qemu-system-ppc
		machine='-M pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken -cpu power9 -vga none'
		console='console=hvc0'
		;;
	mips)
		karch=mips cross=mips-linux-gnu-
		target=vmlinux image=vmlinux
		qemu=qemu-system-mips qemu_package=qemu-system-mips
		machine='-M malta -cpu 34Kf' console='console=ttyS0'
		;;
	sparc64)
		karch=sparc64 cross=sparc64-linux-gnu- target=vmlinux image=vmlinux
		;;
	parisc)
		karch=parisc cross=hppa-linux-gnu- target=vmlinux image=vmlinux
		;;
	sh)
		karch=sh cross=sh4-linux-gnu- target=vmlinux image=vmlinux
		;;
	arc)
		karch=arc cross=arc-linux-gnu- target=vmlinux image=vmlinux
		;;
	x86_64 | i386)
		karch=$1 target=bzImage image=arch/x86/boot/bzImage
		qemu=qemu-system-x86_64 qemu_package=qemu-system-x86
		# The firmware is the fast one that kunit.py uses. "max" is a CPU that does
		# not need the return thunks of real ones; the configs say which are
		# compiled in. CMPXCHG16B is off: QEMU 7.2 spoils the flags after it if a
		# comparison precedes it and an exception has returned shortly before, so a
		# probe there would save and restore wrong flags.
		machine='-bios qboot.rom -cpu max,-cx16' console='console=ttyS0'
		virtio=pci
		;;
	*)
		die "no architecture $1: have $arches $arches_built"
		;;
	esac
	cc_package=gcc-${cross%-}
	case $karch in
	x86_64 | i386) srcarch=x86 ;;
	sparc64) srcarch=sparc ;;
	*) srcarch=$karch ;;
	esac
}

# kmake ARGS...: the kernel's make, in $src for $out and the architecture
kmake()
{
	make -C "$src" O="$out" ARCH="$karch" CROSS_COMPILE="$cross" \
		CC="ccache ${cross}gcc" HOSTCC="ccache gcc" LOCALVERSION= \
		KCPPFLAGS="-fmacro-prefix-map=../${src#"$build"/}/=" "$@"
}
