/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _STORES_H
#define _STORES_H

/*
 * The part of QEMU's plugin interface that stores.c uses: distributions do not package
 * its header. QEMU 9.1 changed one prototype.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
typedef void (*vcpu_cb_t)(unsigned int cpu, void *data);
typedef void (*mem_cb_t)(unsigned int cpu, uint32_t info, uint64_t addr, void *data);
typedef void (*tb_cb_t)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*exit_cb_t)(uint64_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, tb_cb_t cb);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, vcpu_cb_t cb,
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb_t cb,
				      int flags, int rw, void *data);
void qemu_plugin_register_atexit_cb(uint64_t id, exit_cb_t cb, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
#if QEMU_VERSION >= 901
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t len);
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#endif
bool qemu_plugin_mem_is_store(uint32_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t addr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *hw);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hw);

#endif
