// SPDX-License-Identifier: GPL-2.0
/*
 * Loads the kernel that a panic starts:
 *
 *	kexec_crash KERNEL INITRD PARAMETERS
 */
#include <fcntl.h>
#include <linux/kexec.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int kernel, initrd;

	if (argc != 4) {
		fprintf(stderr, "usage: kexec_crash KERNEL INITRD PARAMETERS\n");
		return 2;
	}
	kernel = open(argv[1], O_RDONLY);
	initrd = open(argv[2], O_RDONLY);
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(argv[3]) + 1, argv[3],
		    KEXEC_FILE_ON_CRASH)) {
		perror("kexec_crash");
		return 1;
	}
	return 0;
}
