/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For ordering.sh, which compiles our files once more with this before them: what orders
 * memory accesses leaves a comment in the assembly, "kprobes-ordering KIND FILE LINE". So
 * it can be counted where it makes no instruction, as most of it on x86.
 */
#ifdef __KERNEL__
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/stringify.h>

#include <asm/barrier.h>

#define ORDERS(kind)	\
	asm volatile("# kprobes-ordering " kind " " __FILE__ " " __stringify(__LINE__))

/* Other macros have it, too: those that our lines do not name do not count. */
#undef barrier
#define barrier()			\
	({ ORDERS("barrier"); __asm__ __volatile__("" : : : "memory"); })
#undef smp_mb
#define smp_mb()			({ ORDERS("smp_mb"); __smp_mb(); })
#undef smp_rmb
#define smp_rmb()			({ ORDERS("smp_rmb"); __smp_rmb(); })
#undef smp_wmb
#define smp_wmb()			({ ORDERS("smp_wmb"); __smp_wmb(); })
#undef smp_mb__before_atomic
#define smp_mb__before_atomic()		\
	({ ORDERS("smp_mb__before_atomic"); __smp_mb__before_atomic(); })
#undef smp_mb__after_atomic
#define smp_mb__after_atomic()		\
	({ ORDERS("smp_mb__after_atomic"); __smp_mb__after_atomic(); })
#undef smp_store_release
#define smp_store_release(p, v)		({ ORDERS("smp_store_release"); __smp_store_release(p, v); })
#undef smp_load_acquire
#define smp_load_acquire(p)		({ ORDERS("smp_load_acquire"); __smp_load_acquire(p); })

#define list_add_rcu(new, head)		({ ORDERS("list_add_rcu"); (list_add_rcu)(new, head); })
#define list_add_tail_rcu(new, head)	\
	({ ORDERS("list_add_tail_rcu"); (list_add_tail_rcu)(new, head); })
#define list_del_rcu(entry)		({ ORDERS("list_del_rcu"); (list_del_rcu)(entry); })

#define synchronize_rcu()		({ ORDERS("synchronize_rcu"); (synchronize_rcu)(); })
#define call_rcu(head, func)		({ ORDERS("call_rcu"); (call_rcu)(head, func); })
#ifdef CONFIG_TASKS_RCU
#define synchronize_rcu_tasks()		\
	({ ORDERS("synchronize_rcu_tasks"); (synchronize_rcu_tasks)(); })
#define call_rcu_tasks(head, func)	\
	({ ORDERS("call_rcu_tasks"); (call_rcu_tasks)(head, func); })
#endif
#undef kfree_rcu
#define kfree_rcu(ptr, rhf)		({ ORDERS("kfree_rcu"); kvfree_rcu_arg_2(ptr, rhf); })
#undef kvfree_rcu
#define kvfree_rcu(ptr, rhf)		({ ORDERS("kvfree_rcu"); kvfree_rcu_arg_2(ptr, rhf); })
#endif
